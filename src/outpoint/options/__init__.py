"""The options of a run: declared once, checked in one wording, carried in one value."""

from outpoint.kinds import in_brief, refuse
from outpoint.options.calling import carried_out_by, keeps_arguments
from outpoint.options.declaration import OPTIONS, Options, names_of, options_of
from outpoint.options.option import FIT, LEARN, LOAD, MAP, SAMPLING_ROLES, SCORE, Option, Role

__all__ = [
    "FIT",
    "LEARN",
    "LOAD",
    "MAP",
    "OPTIONS",
    "SAMPLING_ROLES",
    "SCORE",
    "Option",
    "Options",
    "Role",
    "carried_out_by",
    "in_brief",
    "keeps_arguments",
    "names_of",
    "options_of",
    "refuse",
]
