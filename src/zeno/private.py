"""What lies on the disk is not for other users of the machine."""

import contextlib
import stat
from pathlib import Path

OTHERS, GROUP_AND_OTHERS = 0o007, 0o077


def keep_private(path: Path) -> None:
    """Let nobody but its owner at a file or a directory; its group too where the directory it lies in is the group's to write.

    What is not ours to change stays as it is, and so it does on a disk that is read-only or knows no such rights.
    """
    with contextlib.suppress(OSError):
        mode = stat.S_IMODE(path.stat().st_mode)
        # Where everybody may write, as in /tmp, nothing was meant for the group.
        shared = path.parent.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH) == stat.S_IWGRP
        if barred := mode & (OTHERS if shared else GROUP_AND_OTHERS):
            path.chmod(mode & ~barred)
