"""The errors that a developer meets; what the model meets is a retry or a refusal, built where its words are."""


class HarnessError(Exception):
    """Root of every error that this package defines."""


class ConfigurationError(HarnessError, ValueError):
    """A setting was refused when the capability, session or pool was built."""


class ToolNameConflictError(ConfigurationError):
    """Two tools, or a tool and `run_code`, would be called by one name inside the sandbox."""


class CapabilityNameError(HarnessError, ValueError):
    """A name is not one that an authored capability can have."""


class UnknownCapabilityError(HarnessError, LookupError):
    """The store has no capability of that name, or not that version of it."""


class CapabilityRefusedError(HarnessError, ValueError):
    """Code that was to become a capability failed its checks; the text says on which line and why."""
