// *Synthesize STeP Program*: one session for where all goes well, and then for where something is missing.
import "./synthesis/delivery.mjs";
import "./synthesis/problems.mjs";
