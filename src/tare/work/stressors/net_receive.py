"""net_receive: receives large UDP datagrams from the peer without end."""

from __future__ import annotations

from dataclasses import dataclass

from tare.work.stressor import StressedResource
from tare.work.stressors._datagrams import Datagrams


@dataclass(frozen=True, kw_only=True)
class Stressor(Datagrams):
    """Let the peer send on ``streams`` streams to each worker; the sender decides the rate."""

    resource = StressedResource.NETWORK_IN
    reverse = True
