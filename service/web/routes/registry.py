"""What there is to work with: the port's tools, the agent profiles, the model server's slots."""

from __future__ import annotations

from fastapi import APIRouter

from service.core.errors import ProblemCode
from service.web.contract import refusals
from service.web.deps import ApplicationDep, OwnerDep, only_query
from service.web.schemas.listings import AgentList, LeftOutAnswer, ToolAnswer, ToolList
from service.web.schemas.server import SlotList
from service.web.strict_json import StrictJsonRoute

router = APIRouter(tags=["registry"], route_class=StrictJsonRoute)


@router.get("/tools", dependencies=[only_query()], responses=refusals(ProblemCode.TOOL_PORT_UNAVAILABLE))
async def list_tools(app: ApplicationDep) -> ToolList:
    """List the tool port's tools, and those that were left out with the reason."""
    listing = await app.tools.listing()
    return ToolList(
        items=[ToolAnswer.of(spec) for spec in listing.specs],
        left_out=[LeftOutAnswer.model_validate(tool) for tool in listing.left_out],
    )


@router.get("/agents", dependencies=[only_query()], responses=refusals())
async def list_agents(app: ApplicationDep) -> AgentList:
    """List the agent profiles."""
    return AgentList.of(app.agents)


@router.get("/slots", dependencies=[only_query()], responses=refusals())
async def list_slots(app: ApplicationDep, owner: OwnerDep) -> SlotList:
    """List llama-server's slots, who runs in them and who waits, and its chat template in words."""
    return SlotList.of(await app.server.now(owner))
