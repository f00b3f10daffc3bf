from .replayer import Replay, Replayer
