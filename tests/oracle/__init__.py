"""A slow and literal interpreter of STeP generation 1, the measure by which the library is judged.

It shares no code with the library.  A stream is a plain list of elements in stream order and every operator is
a loop over that list, so that each one can be checked by reading it next to the language page ("Operators").
"""

from .elements import Buffer, Element, Multihot, Scalar, STuple
from .operators import OPERATORS
from .streams import Fn, OracleError, Stream, dense, literal_stream
from .tasks import OracleResult, OracleTask, PreparedTask, load_task, run_streams, run_task

__all__ = [
    "OPERATORS",
    "Buffer",
    "Element",
    "Fn",
    "Multihot",
    "OracleError",
    "OracleResult",
    "OracleTask",
    "PreparedTask",
    "STuple",
    "Scalar",
    "Stream",
    "dense",
    "literal_stream",
    "load_task",
    "run_streams",
    "run_task",
]
