from .context import *
from .context import Context, Future, break_with, continue_with
from .errors import *
from .options import *
