// The server's addresses. What goes wrong is an error with a sentence and what to do.

export class Refused extends Error {
  constructor(error, remedy, status) {
    super(error);
    this.remedy = remedy;
    this.status = status;
  }
}

export async function ask(method, path, body, raw = false) {
  let answer;
  try {
    answer = await fetch(`/api${path}`, {
      method,
      body: body === undefined ? undefined : raw ? body : JSON.stringify(body),
      headers: raw || body === undefined ? {} : {"content-type": "application/json"},
      credentials: "same-origin",
    });
  } catch {
    throw new Refused("the server does not answer", "start `backemf web` again in the same folder, and open the address it prints: nothing is lost", 0);
  }
  let content = null;
  try {
    content = await answer.json();
  } catch {
    content = {error: `the server answered ${answer.status} without words`, remedy: "reload the page"};
  }
  if (!answer.ok) throw new Refused(content?.error ?? "the server refused", content?.remedy ?? "", answer.status);
  return content;
}

export class Project {
  constructor(content) {
    this.take(content);
  }

  take(content) {
    Object.assign(this, content);
  }

  path(rest = "") {
    return `/projects/${this.id}${rest}`;
  }

  async reload() {
    this.take(await ask("GET", this.path()));
    return this;
  }

  upload(file, name, folder) {
    const query = new URLSearchParams({name, ...(folder ? {folder} : {})});
    return ask("PUT", this.path(`/files?${query}`), file, true);
  }

  write(name, text) {
    const query = new URLSearchParams({name, replace: "1"});
    return ask("PUT", this.path(`/files?${query}`), new Blob([text]), true);
  }

  remove(name) {
    return ask("DELETE", this.path(`/files/${encode(name)}`));
  }

  address(name) {
    return `/api${this.path(`/files/${encode(name)}`)}`;
  }

  run(command) {
    return ask("POST", this.path("/jobs"), command);
  }

  job(id) {
    return ask("GET", this.path(`/jobs/${id}`));
  }

  answer(id) {
    return ask("GET", this.path(`/jobs/${id}/answer`));
  }

  stop(id) {
    return ask("POST", this.path(`/jobs/${id}/stop`), {});
  }

  again(id) {
    return ask("POST", this.path(`/jobs/${id}/again`), {});
  }

  keep(form) {
    this.form = form;
    return ask("PUT", this.path("/form"), form);
  }

  /** The last job of a command that still says something. */
  last(command) {
    return this.jobs.filter((job) => job.command === command).at(-1);
  }
}

const encode = (name) => name.split("/").map(encodeURIComponent).join("/");

/** Follow a job until it is over: `seen` gets every state of it. */
export async function follow(project, job, seen) {
  let wait = 120;
  while (!job.over) {
    seen(job);
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(600, wait * 1.2);
    job = await project.job(job.id);
  }
  seen(job);
  return job;
}
