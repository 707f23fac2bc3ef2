"""The errors that a developer meets; what the model meets is a retry, built in `code_mode.failures`."""


class HarnessError(Exception):
    """Root of every error that this package defines."""


class ConfigurationError(HarnessError, ValueError):
    """A setting was refused when the capability, session or pool was built."""


class ToolNameConflictError(ConfigurationError):
    """Two tools, or a tool and `run_code`, would be called by one name inside the sandbox."""
