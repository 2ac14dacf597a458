"""Processor time of a beat with the live numbers and without."""

import statistics

from live_cost.pair import Pair
from wire import load


def run(binary, other, scratch, rounds, rate):
    ratios = []
    with Pair([binary, other], scratch) as pair:
        for number in range(rounds):
            costs = [report["processes"]["gateway"]["cpu_us_per_ack"] for report in pair.reports(rate)]
            ratios.append(costs[0] / costs[1] - 1)
            told = f"{costs[0]:.2f} µs a beat with live numbers, {costs[1]:.2f} without"
            print(f"round {number}: {told}, {ratios[-1]:+.1%}", flush=True)
    print(f"{rate} beats/s of {load.USERS} users on each gateway: {statistics.median(ratios):+.1%} (median)")
