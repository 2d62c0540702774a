"""The settings of a command: those in force, or one line that says which is wrong."""

from typing import TYPE_CHECKING

from service.cli.failure import WRONG_USE, fail

if TYPE_CHECKING:
    from service.config import Settings


def settings_or_fail(**given: object) -> "Settings":
    """Return the settings in force, with what the command line gave on top; None means not given."""
    # Imported here, so that --help and --version don't wait for it.
    from service.config import SettingsError, load_settings

    try:
        return load_settings(**given)
    except SettingsError as error:
        fail(str(error), exit_code=WRONG_USE)
