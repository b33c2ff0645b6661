"""The text of a C export that is the same for every actuator: the functions around the emitted step."""

HEADER = """\
{top}#ifndef {NAME}_H
#define {NAME}_H

#ifdef __cplusplus
extern "C" {{
#endif

{sizes}{signal_sizes}#define {NAME}_TARGETS {n_targets}

/* Places in `p`, `s` and in what `{name}_observe` fills. */
{places}
{line_size}/* Everything of one actuator. It holds no pointers: a copy of it is a saved state. */
typedef struct {{
    double p[{NAME}_PARAMETERS]; /* parameters: call {name}_changed after changing one */
    double h;          /* step length [s]; the same */
    {real} s[{NAME}_STATES];       /* states */
    {real} carried[{NAME}_STATES]; /* what additions to them rounded away */
    {real} u[{NAME}_INPUTS];       /* inertia, load, and the targets as they arrived, of the last step */
    {real} effort;     /* mean torque on the joint over the last step */
    {real} v_before;   /* velocity at the last {name}_torque */
    {real} kept[{n_kept}];
    {real} kept_load[{n_kept_load}];
    {real} kept_signals[{n_kept_signals}];
{line_fields}    int fresh;         /* not moved since {name}_reset */
    int seen;          /* {name}_torque was called since */
    int new_length;    /* the load's terms are still of the step before */
}} {name}_actuator;

/* What {name}_init and {name}_changed give. */
enum {{
    {NAME}_OK = 0,
    {NAME}_BAD_STEP = 1, /* h is no number above 0 */
    {NAME}_LONG_DELAY = 2 /* drive.delay is longer than the line of commands holds: define {NAME}_LINE */
}};

/* The numbers above, steps of h seconds, at rest at this position. */
int {name}_init({name}_actuator *a, double h, {real} position);

/* At rest and cold at this position, with the parameters that it has. */
void {name}_reset({name}_actuator *a, {real} position);

/* Call this after changing `p` or `h`. */
int {name}_changed({name}_actuator *a);

/* The torque on a joint that somebody else moves, over the next h seconds. `inertia` is what the joint
   carries without the rotor's share, which its owner must add ({name}_armature); better too small than too
   large. Other loads are taken from how the joint moved since the last call: call it once a step. */
{real} {name}_torque({name}_actuator *a, {real} position, {real} velocity, {real} inertia{asked});

/* Move a joint of its own by h seconds, with this inertia and against this load; `s` has where it is. */
void {name}_step({name}_actuator *a, {real} inertia, {real} load{asked});

/* What can be seen from outside now: {NAME}_SIGNALS numbers. */
void {name}_observe(const {name}_actuator *a, {real} *seen);

/* As if this had been asked all along; the first step after a reset does it by itself. */
void {name}_settle({name}_actuator *a{asked});

/* The step that the functions above take: traced from backemf's own. */
{functions}
{signal_functions}
#ifdef __cplusplus
}}
#endif

#endif
"""

SOURCE = """\
{top}#include "{file}.h"

#include <math.h>

static const double {name}_numbers[{NAME}_PARAMETERS] = {{
{numbers}
}};

int {name}_init({name}_actuator *a, double h, {real} position) {{
    int i;
    for (i = 0; i < {NAME}_PARAMETERS; i++) {{
        a->p[i] = {name}_numbers[i];
    }}
    a->h = h;
    {name}_reset(a, position);
    return {name}_changed(a);
}}

void {name}_reset({name}_actuator *a, {real} position) {{
    int i;
    for (i = 0; i < {NAME}_STATES; i++) {{
        a->s[i] = {zero};
        a->carried[i] = {zero};
    }}
    for (i = 0; i < {NAME}_INPUTS; i++) {{
        a->u[i] = {zero};
    }}
    a->s[{POSITION}] = position;
{starts}{empty}    a->effort = {zero};
    a->v_before = {zero};
    a->fresh = 1;
    a->seen = 0;
    a->new_length = 1;
}}

int {name}_changed({name}_actuator *a) {{
    if (!(a->h > 0.0)) {{
        return {NAME}_BAD_STEP;
    }}
    {name}_prepare(a->p, a->h, a->kept);
    {name}_prepare_signals(a->p, a->kept_signals);
    if (!a->seen) {{
        {name}_prepare_load(a->p, a->h, a->kept_load);
    }}
    a->new_length = a->seen;
{fits}    return {NAME}_OK;
}}

void {name}_settle({name}_actuator *a{asked}) {{
{unused}    if (!a->fresh) {{
        return;
    }}
    a->fresh = 0;
{follows}}}

{arrive}{real} {name}_torque({name}_actuator *a, {real} position, {real} velocity, {real} inertia{asked}) {{
    {real} load = {zero};
{given}    a->s[{POSITION}] = position;
    a->s[{VELOCITY}] = velocity;
    {name}_settle(a{passed});
    a->u[0] = inertia;
    if (a->seen) {{ /* what must have acted since the last call, for the joint to move as it did */
        load = {name}_load_seen(a->kept_load, a->u, a->v_before, velocity, a->effort);
    }}
    if (a->new_length) {{
        {name}_prepare_load(a->p, a->h, a->kept_load);
        a->new_length = 0;
    }}
    a->u[1] = load;
{arrives}    a->effort = {name}_advance(a->kept, a->s, a->carried, a->u);
    a->s[{POSITION}] = position;
    a->s[{VELOCITY}] = velocity;
    a->carried[{POSITION}] = {zero};
    a->carried[{VELOCITY}] = {zero};
    a->v_before = velocity;
    a->seen = 1;
    return a->effort;
}}

void {name}_step({name}_actuator *a, {real} inertia, {real} load{asked}) {{
{given}    {name}_settle(a{passed});
    a->u[0] = inertia;
    a->u[1] = load;
{arrives}    a->effort = {name}_advance(a->kept, a->s, a->carried, a->u);
}}

void {name}_observe(const {name}_actuator *a, {real} *seen) {{
    {name}_signals(a->kept_signals, a->s, a->u, seen);
}}
{step}{signals}"""

ARRIVE = """\
/* The command as it arrives over a step, `drive.delay` late: the mean of what was asked then, where it
   changed inside the step. What was asked first was asked before, too. */
static void {name}_arrive({name}_actuator *a, const {real} *given, {real} *arrives) {{
    const {real} h = ({real})a->h, delay = ({real})a->p[{DELAY}];
    {real} age = {zero}, total = {zero}; /* of an entry's end, before the end of this step; of the shares */
    int i, k, at;
    a->newest = (a->newest + 1) % {NAME}_LINE;
    a->n_line += a->n_line < {NAME}_LINE;
    a->lasted[a->newest] = h;
    for (i = 0; i < {NAME}_TARGETS; i++) {{
        a->line[a->newest][i] = given[i];
        arrives[i] = {zero};
    }}
    for (k = 0; k < a->n_line; k++) {{
        {real} from, to;
        at = (a->newest - k + {NAME}_LINE) % {NAME}_LINE;
        from = age > delay ? age : delay;
        age += a->lasted[at];
        to = age < delay + h && k < a->n_line - 1 ? age : delay + h;
        if (to > from) {{
            total += to - from;
            for (i = 0; i < {NAME}_TARGETS; i++) {{
                arrives[i] += (to - from) * a->line[at][i];
            }}
        }}
        if (age >= delay + h) {{
            break;
        }}
    }}
    for (i = 0; i < {NAME}_TARGETS; i++) {{
        arrives[i] /= total;
    }}
}}

"""
