"""net_send: sends large UDP datagrams to the peer without end."""

from __future__ import annotations

from dataclasses import dataclass

from tare.work.stressor import StressedResource
from tare.work.stressors._datagrams import Datagrams


@dataclass(frozen=True, kw_only=True)
class Stressor(Datagrams):
    """Let each worker send on ``streams`` streams; what the peer cannot take is lost."""

    resource = StressedResource.NETWORK_OUT
    reverse = False
