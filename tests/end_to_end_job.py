"""A training job in small, for end_to_end.rs: ten steps through the Python client, and the dumps that the job writes.

    MILES_COLLECT=... MILES_NODE=... python end_to_end_job.py RUN STEPS SAMPLES

GPUs 0 and 1 of the node generate, 2 and 3 train. Prints, as one JSON object, what really happened.
"""

import asyncio
import json
import sys
import time
from enum import Enum
from pathlib import Path
from types import SimpleNamespace

import torch

from miles_telemetry import Telemetry

RANKS = {0: 2, 1: 3}


class Status(Enum):
    COMPLETED = "completed"


class Job:
    def __init__(self, run, steps, samples):
        self.run, self.steps, self.samples = Path(run), int(steps), int(samples)
        self.manager = Telemetry(role="rollout_manager")
        self.trainers = {rank: Telemetry(gpus=[gpu], rank=rank) for rank, gpu in RANKS.items()}
        self.story = {"phases": [], "steps": []}

    def timed(self, telemetry, rank, name, work):
        """As miles' Timer does it."""
        sink = telemetry.phase_sink()
        t0 = time.time()
        sink.begin(name, t0)
        work()
        t1 = time.time()
        sink(name, t0, t1)
        self.story["phases"].append({"name": name, "t0": t0, "t1": t1, "rank": rank})
        return t1 - t0

    async def sample(self, sample, step):
        telemetry = self.manager
        telemetry.attempt_start(sample)
        for turn in (1, 2):
            async with telemetry.gen_span(sample):
                await asyncio.sleep(0.005)
                sample.weight_versions.append(str(step))
            if turn == 1:
                with telemetry.tool_span(sample, detail="1 calls"):
                    await asyncio.sleep(0.002)
        sample.status = Status.COMPLETED
        telemetry.attempt_end(sample)

    def roll_out(self, step):
        first = step * self.samples
        batch = [
            SimpleNamespace(index=first + i, group_index=(first + i) // 2, weight_versions=[], status="pending", metadata={})
            for i in range(self.samples)
        ]

        async def all_of_them():
            await asyncio.gather(*(self.sample(sample, step) for sample in batch))

        asyncio.run(all_of_them())
        return batch

    def dump(self, step, batch):
        for folder in ("rollout_data", "train_data"):
            (self.run / folder).mkdir(exist_ok=True)
        samples = [
            {
                "index": s.index, "group_index": s.group_index, "prompt": "p", "tokens": [1, 2, 3, 4], "response": "r",
                "response_length": 2, "label": None, "reward": float(s.index % 2), "loss_mask": None,
                "weight_versions": s.weight_versions, "rollout_log_probs": [-0.5, -0.25], "status": s.status.value,
                "metadata": {}, "remove_sample": False,
            }
            for s in batch
        ]  # fmt: skip
        torch.save({"rollout_id": step, "metadata": {}, "samples": samples}, self.run / f"rollout_data/{step}.pt")
        for rank in RANKS:
            rows = batch[rank :: len(RANKS)]
            columns = {
                "sample_indices": [s.index for s in rows],
                "tokens": [torch.tensor([1, 2, 3, 4]) for _ in rows],
                "response_lengths": [2] * len(rows),
                "total_lengths": [4] * len(rows),
                "rewards": [0.0] * len(rows),
                "raw_reward": [float(s.index % 2) for s in batch],
                "truncated": [0] * len(rows),
                "loss_masks": [torch.ones(2, dtype=torch.int32) for _ in rows],
                "rollout_log_probs": [torch.tensor([-0.5, -0.25]) for _ in rows],
                "log_probs": [torch.tensor([-0.5, -0.25]) for _ in rows],
            }
            # The first rank's file says that the rollout file is whole: it comes last.
            name = f"train_data/{step}_{rank}.pt"
            whole = {"rollout_id": step, "rank": rank, "rollout_data": columns, "cp_rank": 0, "cp_size": 1, "qkv_format": "thd"}
            torch.save(whole, self.run / name)

    def step(self, step):
        began = time.time()
        self.manager.data_buffer(self.samples * (step + 1))
        batch = []
        waited = self.timed(self.manager, -1, "rollout", lambda: batch.extend(self.roll_out(step)))
        self.dump(step, batch)
        for rank, telemetry in self.trainers.items():
            self.timed(telemetry, rank, "actor_train", lambda: time.sleep(0.02))
            self.timed(telemetry, rank, "update_weights", lambda: time.sleep(0.005))
        loss = 1.0 / (step + 1)
        self.trainers[0].metrics("train/step", step, {"train/loss": torch.tensor(loss, dtype=torch.float64), "grad": torch.zeros(3)})
        took = time.time() - began
        values = {"perf/step_time": took, "perf/wait_time_ratio": waited / took, "rollout/reward": step / 10, "nan": float("nan")}
        self.manager.metrics("rollout/step", step, values)
        self.story["steps"].append({
            "step": step, "loss": loss, "step_time": took, "wait_ratio": waited / took,
            "samples": [s.index for s in batch], "buffer": self.samples * (step + 1),
        })  # fmt: skip

    def play(self):
        args = {"colocate": False, "n_samples_per_prompt": 2, "wandb_group": "end-to-end", "wandb_key": "hush"}
        self.manager.run_args(SimpleNamespace(**args))
        for step in range(self.steps):
            self.step(step)
        clients = [self.manager, *self.trainers.values()]
        for client in clients:
            client.close(30.0)
        stats = [client.stats() for client in clients]
        self.story["dropped"] = sum(s.dropped + s.invalid for s in stats)
        self.story["sent"] = sum(s.sent for s in stats)
        print(json.dumps(self.story))


Job(*sys.argv[1:]).play()
