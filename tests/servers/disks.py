"""A small disk that becomes full or read-only. Needs root, mkfs.ext4 and loop devices."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path


class NoDisk(Exception):
    """This machine cannot mount a test disk."""


@contextlib.contextmanager
def small_disk(folder: Path, megabytes: int = 48) -> Iterator[Path]:
    """Mount a new ext4 file system that becomes read-only at its first error, and yield its folder. Raises NoDisk."""
    image, disk = folder / "image", folder / "disk"
    disk.mkdir()
    with image.open("wb") as file:
        file.truncate(megabytes << 20)
    try:
        subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
        subprocess.run(["mount", "-o", "loop,errors=remount-ro", image, disk], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise NoDisk(f"needs root, mkfs.ext4 and loop devices: {error}") from error
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def make_read_only(disk: Path) -> None:
    """Trigger an error of the disk, after which Linux refuses every write."""
    device = next(line.split()[0] for line in Path("/proc/mounts").read_text().splitlines() if f" {disk} " in line)
    (Path("/sys/fs/ext4") / Path(device).name / "trigger_fs_error").write_text("1")


def fill(disk: Path) -> None:
    """Write until the disk is full."""
    with contextlib.suppress(OSError), (disk / "other").open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)


def empty(disk: Path) -> None:
    """Remove the files of ``fill``."""
    (disk / "other").unlink()
