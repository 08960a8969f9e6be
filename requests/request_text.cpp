// The text requests, one function each.
#include "requests/request_parts.h"
#include "tokitai/adamw.h"
#include "tokitai/embedding.h"
#include "tokitai/gemm.h"
#include "tokitai/layernorm.h"
#include "tokitai/softmax.h"

namespace tokitai::requests {
namespace {

constexpr std::int64_t kMostBlock = 1024;  // threads of a GPU's block; ours are not chosen by the client

ParsedRequest adamw(Tokens tokens) {
  AdamwHeader h;
  if (!(tokens.get(h.n) && tokens.get(h.lr) && tokens.get(h.beta1) && tokens.get(h.beta2) && tokens.get(h.eps) &&
        tokens.get(h.weight_decay) && tokens.get(h.t)))
    return refused(kBadHeader, "the header is not N LR BETA1 BETA2 EPS WEIGHT_DECAY T");
  if (h.n <= 0 || h.n > kMostElements)
    return refused(3, fmt::format("N = {}; it must be in [1, {}]", h.n, kMostElements));
  if (h.t <= 0) return refused(4, fmt::format("T = {}; it must be at least 1", h.t));
  ParsedRequest parsed;
  Arrays arrays(tokens, parsed, 5);
  arrays.halves("theta", h.n);
  arrays.singles("m", h.n);
  arrays.singles("v", h.n);
  arrays.halves("grad", h.n);
  if (arrays.finish()) bind_adamw(parsed.request, h);
  return parsed;
}

ParsedRequest layernorm(Tokens tokens) {
  std::int64_t op = 0, rows = 0, cols = 0, block = 0, grad_block = 1;
  float eps = 0;
  if (!(tokens.get(op) && tokens.get(rows) && tokens.get(cols) && tokens.get(block) && tokens.get(eps)))
    return refused(kBadHeader, "the header is not OP N_ROWS N_COLS BLOCK_SIZE EPS");
  if (op != 1 && op != 2) return refused(3, fmt::format("OP = {}; it must be 1 or 2", op));
  if (op == 2 && !tokens.get(grad_block)) return refused(kBadHeader, "the header has no GRAD_BLOCK_SIZE");
  if (!fits(rows, cols))
    return refused(4, fmt::format("N_ROWS = {}, N_COLS = {}; both must be at least 1, their product at most {}", rows,
                                  cols, kMostElements));
  for (const std::int64_t size : {block, grad_block})
    if (size <= 0 || size > kMostBlock)
      return refused(5, fmt::format("a block size of {}; it must be in [1, {}]", size, kMostBlock));
  ParsedRequest parsed;
  Request& r = parsed.request;
  Arrays arrays(tokens, parsed, 6);
  auto& gamma = arrays.halves("gamma", cols);
  auto& beta = arrays.halves("beta", cols);
  r.shape = {{"N_ROWS", rows}, {"N_COLS", cols}};
  if (op == 1) {
    auto& x = arrays.halves("x", rows * cols);
    if (!arrays.finish()) return parsed;
    const auto y = matrix(pointer(output_halves(r, rows * cols)), rows, cols);
    const auto mean = vector(output_singles(r, rows).data(), rows), rstd = vector(output_singles(r, rows).data(), rows);
    r.call = bind(LayernormForward{.x = matrix(pointer(x), rows, cols),
                                   .gamma = vector(pointer(gamma), cols),
                                   .beta = vector(pointer(beta), cols),
                                   .eps = eps,
                                   .y = y,
                                   .mean = mean,
                                   .rstd = rstd});
    r.outputs = {{"OUTPUT", y, ','}, {"MEAN", mean, ','}, {"RSTD", rstd, ','}};
    return parsed;
  }
  auto& dy = arrays.halves("dy", rows * cols);
  auto& x = arrays.halves("x", rows * cols);
  arrays.halves("mean bits", rows);  // rounded to half precision: the operator reads the exact ones
  arrays.halves("rstd bits", rows);
  auto& mean = arrays.singles("mean", rows);
  auto& rstd = arrays.singles("rstd", rows);
  if (!arrays.finish()) return parsed;
  const auto dx = matrix(pointer(output_halves(r, rows * cols)), rows, cols);
  const auto dgamma = vector(output_singles(r, cols).data(), cols),
             dbeta = vector(output_singles(r, cols).data(), cols);
  r.call = bind(LayernormBackward{.dy = matrix(pointer(dy), rows, cols),
                                  .x = matrix(pointer(x), rows, cols),
                                  .gamma = vector(pointer(gamma), cols),
                                  .mean = vector(mean.data(), rows),
                                  .rstd = vector(rstd.data(), rows),
                                  .dx = dx,
                                  .dgamma = dgamma,
                                  .dbeta = dbeta});
  r.outputs = {{"GRAD_INPUT", dx, ','}, {"GRAD_GAMMA", dgamma, ','}, {"GRAD_BETA", dbeta, ','}};
  return parsed;
}

ParsedRequest gemm_backward(Tokens tokens) {
  std::int64_t id = 0, m = 0, n = 0, k = 0;
  if (!(tokens.get(id) && tokens.get(m) && tokens.get(n) && tokens.get(k)))
    return refused(kBadHeader, "the header is not KERNEL_ID M N K");
  if (id != 1 && id != 2) return refused(3, fmt::format("KERNEL_ID = {}; it must be 1 or 2", id));
  if (!fits(m, n) || !fits(m, k) || !fits(k, n))
    return refused(4, fmt::format("M = {}, N = {}, K = {}; each must be at least 1, each product at most {}", m, n, k,
                                  kMostElements));
  ParsedRequest parsed;
  Request& r = parsed.request;
  Arrays arrays(tokens, parsed, 5);
  auto& dc = arrays.halves("dC", m * n);
  auto& other = id == 1 ? arrays.halves("B", k * n) : arrays.halves("A", m * k);
  if (!arrays.finish()) return parsed;
  r.shape = {{"M", m}, {"N", n}, {"K", k}};
  const auto gradient = matrix(pointer(dc), m, n);
  const std::int64_t rows = id == 1 ? m : k, cols = id == 1 ? k : n;
  const auto result = matrix(pointer(output_halves(r, rows * cols)), rows, cols);
  r.call = id == 1 ? bind(GemmGradA{.dc = gradient, .b = matrix(pointer(other), k, n), .da = result})
                   : bind(GemmGradB{.dc = gradient, .a = matrix(pointer(other), m, k), .db = result});
  r.outputs = {{"RESULTS", result, ' '}};
  return parsed;
}

ParsedRequest embedding(Tokens tokens) {
  std::int64_t queries = 0, dim = 0, vocab = 0, op = 0;
  if (!(tokens.get(queries) && tokens.get(dim) && tokens.get(vocab) && tokens.get(op)))
    return refused(kBadHeader, "the header is not N_QUERIES DIM VOCAB OP");
  if (!fits(queries, dim) || !fits(vocab, dim))
    return refused(3, fmt::format("N_QUERIES = {}, DIM = {}, VOCAB = {}; each must be at least 1, queries and vocab "
                                  "times dim at most {}",
                                  queries, dim, vocab, kMostElements));
  if (op != 0 && op != 1) return refused(4, fmt::format("OP = {}; it must be 0 or 1", op));
  ParsedRequest parsed;
  Request& r = parsed.request;
  Arrays arrays(tokens, parsed, 5);
  auto& index = arrays.integers("the indices", queries);
  auto& rows = op == 0 ? arrays.halves("weight", vocab * dim) : arrays.halves("dy", queries * dim);
  if (!arrays.finish()) return parsed;
  r.shape = {{"N_QUERIES", queries}, {"DIM", dim}, {"VOCAB", vocab}};
  const std::int64_t count = op == 0 ? queries : vocab;
  const auto result = matrix(pointer(output_halves(r, count * dim)), count, dim);
  const auto indices = vector(index.data(), queries);
  r.call =
      op == 0 ? bind(EmbeddingForward{.weight = matrix(pointer(rows), vocab, dim), .index = indices, .y = result})
              : bind(EmbeddingBackward{.dy = matrix(pointer(rows), queries, dim), .index = indices, .dweight = result});
  r.outputs = {{"OUTPUT", result, ' '}};
  return parsed;
}

ParsedRequest softmax(Tokens tokens) {
  std::int64_t mode = 0, rows = 0, cols = 0;
  if (!(tokens.get(mode) && tokens.get(rows) && tokens.get(cols)))
    return refused(kBadHeader, "the header is not MODE N_ROWS N_COLS");
  if (mode != 0 && mode != 1) return refused(3, fmt::format("MODE = {}; it must be 0 or 1", mode));
  if (!fits(rows, cols))
    return refused(4, fmt::format("N_ROWS = {}, N_COLS = {}; both must be at least 1, their product at most {}", rows,
                                  cols, kMostElements));
  ParsedRequest parsed;
  Request& r = parsed.request;
  Arrays arrays(tokens, parsed, 5);
  auto& first = arrays.halves(mode == 0 ? "x" : "dy", rows * cols);
  std::vector<std::uint16_t>* y = mode == 0 ? nullptr : &arrays.halves("y", rows * cols);
  if (!arrays.finish()) return parsed;
  r.shape = {{"N_ROWS", rows}, {"N_COLS", cols}};
  const auto in = matrix(pointer(first), rows, cols);
  const auto result = matrix(pointer(output_halves(r, rows * cols)), rows, cols);
  r.call = mode == 0 ? bind(SoftmaxForward{.x = in, .y = result})
                     : bind(SoftmaxBackward{.dy = in, .y = matrix(pointer(*y), rows, cols), .dx = result});
  r.outputs = {{"OUTPUT", result, ','}};
  return parsed;
}

}  // namespace

ParsedRequest parse_text_request(RequestFamily family, std::string_view text) {
  const Tokens tokens(text);
  switch (family) {
    case RequestFamily::adamw: return adamw(tokens);
    case RequestFamily::layernorm: return layernorm(tokens);
    case RequestFamily::gemm_backward: return gemm_backward(tokens);
    case RequestFamily::embedding: return embedding(tokens);
    case RequestFamily::softmax: return softmax(tokens);
  }
  return refused(kBadHeader, "no such family");
}

}  // namespace tokitai::requests
