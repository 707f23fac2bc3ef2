"""Where capabilities cannot be loaded for a run: durable engines know only those that the agent was built with."""

from __future__ import annotations

import sys

from pydantic_ai.exceptions import UserError


def refuse_in_workflow() -> None:
    """See to it that this is not the code of a Temporal or DBOS workflow.

    Raises:
        UserError: It is.
    """
    for engine, is_in_workflow in (('Temporal', _in_temporal_workflow), ('DBOS', _in_dbos_workflow)):
        if is_in_workflow():
            raise UserError(
                f'{engine} takes no capabilities for a single run, so none can be loaded inside a workflow. Load them '
                'where the agent is built, `Agent(..., capabilities=[creation, *creation.store.load_active()])`, '
                'before the worker starts; those that are authored later are active once it is started again.'
            )


def _in_temporal_workflow() -> bool:
    module = sys.modules.get('temporalio.workflow')
    return module is not None and bool(module.in_workflow())


def _in_dbos_workflow() -> bool:
    module = sys.modules.get('dbos')
    return module is not None and module.DBOS.workflow_id is not None and module.DBOS.step_id is None
