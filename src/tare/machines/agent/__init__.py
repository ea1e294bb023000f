"""The agent: a small program that stays in a machine and starts all commands there.

Entering a stack anew for each command is the greatest weight of a harness: ``docker exec true``
takes 85 ms, and in an emulated guest 4 s. The agent is a small static program (``agent.c``) that is
put into a machine when the machine is opened and reached through the streams of that one entry.
What it starts are its own children, so they are in the cgroups and namespaces of the machine. It
answers nobody but the other end of its streams, and ends with them.

``wire`` is the protocol, ``streams`` are the ways to an agent, ``client`` is the other end of them,
``machine`` is a machine that is reached so, ``placement`` puts agents into machines, and ``binary``
builds the program (docs/decisions/0029-a-resident-agent.md).
"""

from tare.machines.agent.client import Command, release
from tare.machines.agent.machine import AgentMachine
from tare.machines.agent.placement import Agents, NoAgent

__all__ = ["AgentMachine", "Agents", "Command", "NoAgent", "release"]
