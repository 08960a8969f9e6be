// What a process boundary costs: calls through worker devices and servers beside the in-process call of the same run.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tokitai/status.h"

namespace tokitai::bench {

// One step of adamw.step in f16, medians in seconds. Every way's result has the same bits, or there is no figure.
struct StepFigures {
  std::int64_t elements = 0;
  double in_process = 0;   // in large pages, where the system has any
  double small_pages = 0;  // in-process, in memory as malloc gives it
  double in_buffers = 0;   // worker:cpu, tensors in its shared memory
  double own_memory = 0;   // worker:cpu, tensors in the caller's memory
  double framed_text = 0;  // tokitai worker adamw --server; 0: not timed at this size
};

// softmax.forward of one row of 16.
struct SmallCallFigures {
  double in_process = 0, worker = 0, server = 0;
};

// softmax.forward of 64 rows of 1024 through one server, each client with tensors of its own; all of them together.
struct ClientFigures {
  int clients = 0;
  double calls_per_second = 0;
  double best_p99 = 0, worst_p99 = 0;  // of a client
};

struct WorkerFigures {
  std::vector<StepFigures> steps;
  SmallCallFigures small;
  std::vector<ClientFigures> clients;
};

struct WorkerBench {
  int threads = 0;
  std::vector<std::int64_t> elements = {4194304, 67108864};
  double budget = 1;    // seconds for each
  std::string command;  // this program, which is also `tokitai worker`; empty: the framed text is not timed
  std::function<void(const std::string&)> say;
};
Result<WorkerFigures> time_workers(const WorkerBench& how);

}  // namespace tokitai::bench
