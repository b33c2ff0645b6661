"""The C of a MuJoCo plugin that is the same for every actuator: `simulator/live/kernel.py` in MuJoCo's own
words.

An actuator's memory is a part of `plugin_state`: its states (in the position's place 1 once the first step is
taken, in the velocity's the joint's at the last step), the effort that acted, and the commands of the last
steps. `compute` finds what follows them after the step, and writes it behind them; `advance` puts it in their
place. Nothing else is kept, so that no copy of a simulation can go wrong.
"""

BEGIN = """\
{top}#include <math.h>
#include <mujoco/mujoco.h>
#include <stdlib.h>
#include <string.h>

#ifndef BACKEMF_TAG
#define BACKEMF_TAG "" /* behind every plugin's name, for a process that loads several builds */
#endif
#define BACKEMF_NAME(name) "backemf." name BACKEMF_TAG

/* An actuator without a joint: tables in the order of its parameters, states and targets. */
typedef struct {{
    const char *plugin;
    int n_parameters, n_states, n_targets, n_late, n_kept, position, velocity, substeps, slides;
    const char *const *attributes; /* of the plugin: parameters, targets behind the first, how to step */
    int n_attributes;
    const double *numbers;
    const double *low, *high; /* what parameters may be */
    const int *above;         /* whether they must be more than low */
    const int *over;          /* the parameter that one must not be less than; -1: none */
    const int *start;         /* the parameter that a state starts from; -1: 0 */
    const int *follows;       /* 1: it starts where the joint is, 2: at the first target */
    int delay, command_low, command_high; /* parameters; -1: none */
    void (*prepare)(const double *p, double h, double *kept);
    void (*step)(int n, const double *kept, const double *u, double *s);
    double (*armature)(const double *p);
}} backemf_kind;
"""

KIND = """\

/* {joint} */
enum {{ {NAME}_PARAMETERS = {n_parameters}, {NAME}_KEPT = {n_kept} }};
static const double {name}_numbers[{n_parameters}] = {{
{numbers}
}};
static const char *const {name}_attributes[{n_attributes}] = {{
{attributes}
}};
static const double {name}_low[{n_parameters}] = {{{low}}};
static const double {name}_high[{n_parameters}] = {{{high}}};
static const int {name}_above[{n_parameters}] = {{{above}}};
static const int {name}_over[{n_parameters}] = {{{over}}};
static const int {name}_start[{n_states}] = {{{start}}};
static const int {name}_follows[{n_states}] = {{{follows}}};
{step}"""

ROW = """\
    {{BACKEMF_NAME({plugin}), {NAME}_PARAMETERS, {n_states}, {n_targets}, {n_late}, {NAME}_KEPT,
     {position}, {velocity}, {substeps}, {slides}, {name}_attributes, {n_attributes}, {name}_numbers,
     {name}_low, {name}_high, {name}_above, {name}_over, {name}_start, {name}_follows,
     {delay}, {command_low}, {command_high}, {name}_prepare, {name}_step, {name}_armature}},
"""

KINDS = """
enum {{
    BACKEMF_KINDS = {n_kinds},
    BACKEMF_PARAMETERS = {n_parameters}, /* the most that one has */
    BACKEMF_INPUTS = {n_inputs},
    BACKEMF_SWEEPS = {sweeps},   /* rounds in which the joints of a tree agree on their efforts, each step */
    BACKEMF_FIRST = {first}      /* and after a reset, when nothing is known of the efforts */
}};
static const double backemf_still = {still}; /* change of velocity between rounds that ends them */
static const backemf_kind backemf_kinds[BACKEMF_KINDS] = {{
{rows}}};
static int backemf_slots[BACKEMF_KINDS]; /* MuJoCo's numbers of them, written once */
"""

MAKEFILE = """\
# make MUJOCO=/path/to/mujoco: the folder with include/ and the library; without it, that of python's package.
PYTHON ?= python3
MUJOCO ?= $(shell $(PYTHON) -c "import mujoco, os; print(os.path.dirname(mujoco.__file__))")
SOURCE := $(subst ",,"{source}")
LIBRARY := lib$(SOURCE:.c=.so)
LINKED = $(firstword $(wildcard $(MUJOCO)/libmujoco*.so* $(MUJOCO)/lib/libmujoco*.so* \\
  $(MUJOCO)/libmujoco*.dylib $(MUJOCO)/lib/libmujoco*.dylib))
CFLAGS ?= -O2

$(LIBRARY): $(SOURCE)
\t$(CC) $(CFLAGS) -std=c99 -ffp-contract=off -fPIC -fvisibility=hidden -shared \\
\t  -isystem $(MUJOCO)/include $(SOURCE) -o $@ $(LINKED) -lm
"""

EXAMPLE = """\
{top}<mujoco>
  <extension>
    <plugin plugin="backemf.{plugin}"/>
  </extension>
  <option timestep="{timestep}" integrator="{integrator}"/>
  <worldbody>
    <body name="{joint}_load" pos="0 0 1">
      <joint name="{joint}" {kind} damping="0" frictionloss="0" armature="{armature}"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.1" size="0.01" mass="0.1"/>
    </body>
  </worldbody>
  <actuator>
    <plugin name="{joint}" joint="{joint}" plugin="backemf.{plugin}">{config}</plugin>{more}
  </actuator>
</mujoco>
"""
