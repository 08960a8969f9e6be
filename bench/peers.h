// What others take for the same work, in the same run with the same threads or on the same GPU: PyTorch's operators
// through a Python that has torch, OpenBLAS's sgemm through its library. Both are found at run time or said to be
// missing.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "problems/problem.h"
#include "tokitai/status.h"

namespace tokitai::bench {

struct Peer {
  std::string name;                            // "torch 2.9.0"
  std::map<std::string, double> seconds;       // by problem text
  std::map<std::string, double> host_seconds;  // from a call to its return, on a GPU
  std::map<std::string, double> bytes;         // moved by the peer, where that is not what we move
  std::map<std::string, std::string> notes;
};

// `python` is tried first where it is not empty, then python3.
Result<Peer> torch_peer(const std::vector<problems::Problem>& problems, int threads, const std::string& python);
// The same on the NVIDIA GPU of that number, in f16 unless the problem says otherwise.
Result<Peer> torch_gpu_peer(const std::vector<problems::Problem>& problems, int index, const std::string& python);
Result<Peer> openblas_peer(const std::vector<problems::Problem>& problems, int threads);

}  // namespace tokitai::bench
