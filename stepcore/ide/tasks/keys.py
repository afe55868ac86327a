"""The keys of a task file with what they mean, for completion and hover; the frontend's schemas say which exist."""

from __future__ import annotations

from typing import Final

from stepcore.frontend.yaml.fields import Schema
from stepcore.frontend.yaml.parts import FN_SCHEMA, INPUT_SCHEMA, OUTPUT_SCHEMA, PARAMETER_SCHEMA
from stepcore.frontend.yaml.tasks import TASK_SCHEMA

# Section of a task file -> the schema of one entry.
SECTIONS: Final[dict[str, Schema]] = {
    "": TASK_SCHEMA,
    "inputs": INPUT_SCHEMA,
    "parameters": PARAMETER_SCHEMA,
    "fns": FN_SCHEMA,
    "outputs": OUTPUT_SCHEMA,
}
DOCUMENTATION: Final[dict[str, str]] = {
    "test_name": "Name of the task for people.",
    "global": "Python in the closed function language: sizes such as `M_value = 5` that no run overrides, and helper "
    "objects that the functions use.",
    "sizes": "How large the dynamic and ragged sizes of inputs get in a run: `{min: 0, max: 64}` or "
    "`{values: [3, 1, 2]}`.",
    "values": "All values of a size, one for each position of the dimensions outside, the outermost slowest.",
    "inputs": "The streams that the program gets: a list of entries with `name`, `dtype` and `dims`.",
    "parameters": "Weights that element functions read as `input_data['NAME']`.",
    "fns": "The element functions that the program may use.",
    "outputs": "The streams that the program has to return, in order, each with its reference.",
    "constraints": "What the task demands beyond types, for people and models.",
    "answer_may_define_fns": "`true` lets `impl` define element functions besides those under `fns`. Default: `false`.",
    "impl": "The program: operators applied to streams, and one `return`.",
    "source": "Where the task comes from, for people.",
    "name": "How programs call it; of a function: a label for people.",
    "dtype": "Element type: `fp32`, `Buffer(fp32, [K])`, `Multihot(fp32, E)`, or a list of these (a tuple).",
    "dims": "Shape of the stream, innermost size first.",
    "data_gen": "How test data are drawn: `torch.rand`, `torch.randn`, `torch.ones` or `binary`.",
    "min": "Least number of ones in a selector.",
    "max": "Greatest number of ones in a selector.",
    "layout": "How the host lays the tensor out for the stream.",
    "written": "Whether stores may write the parameter: `true` or `false`.",
    "memory": "The parameter whose content after the run this output is, instead of a stream.",
    "from": "The tensor of the host that the weight is taken from.",
    "data_transform": "Reference of this output: one block of PyTorch per tuple component.",
    "func_name": "Name under which programs use the function.",
    "input_dtype": "Element type of one input of the function.",
    "output_dtype": "Element type of the result; with `init`, of the state too.",
    "init": "Makes the function a fold, `apply(state, input)`: what the state begins with (0, 1, -1 or -inf).",
    "apply": "Body of the function; returns a list with one tensor per component.",
}
# What `sizes` says of one size.
DRAWN: Final[dict[str, str]] = {
    "min": "Least value of the size in a run; 0 unless given.",
    "max": "Greatest value of the size in a run, which also bounds memory and FIFOs.",
    "values": DOCUMENTATION["values"],
}
