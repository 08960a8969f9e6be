// Running a request, and its answer as text or in binary.
#include <chrono>
#include <iterator>

#include "base/bytes.h"
#include "requests/request_parts.h"

namespace tokitai::requests {
namespace {

// Half precision as its bits in decimal; f32 as the shortest text that reads back as the same number.
void append(std::string& out, const View& view, char separator) {
  auto to = std::back_inserter(out);
  const std::int64_t count = view.elements();
  for (std::int64_t i = 0; i < count; ++i) {
    if (i > 0) out += separator;
    if (view.type == Type::f32)
      fmt::format_to(to, "{}", static_cast<const float*>(view.data)[i]);
    else
      fmt::format_to(to, "{}", static_cast<const std::uint16_t*>(view.data)[i]);
  }
}

std::string in_text(const Request& request, const Device& device, double milliseconds) {
  std::string out =
      fmt::format("DEVICE_NAME={} ({})\nKERNEL_TIME_MS={:.6f}\n", device.name(), device.description(), milliseconds);
  for (const auto& [name, value] : request.shape) fmt::format_to(std::back_inserter(out), "{}={}\n", name, value);
  for (const Request::Output& output : request.outputs) {
    out += output.name;
    out += '=';
    append(out, output.view, output.separator);
    out += '\n';
  }
  return out;
}

std::string in_binary(const Request& request, double milliseconds) {
  base::Writer w;
  w.put(std::uint32_t{0});
  w.put(static_cast<std::uint32_t>(request.outputs[0].view.elements()));
  w.put(static_cast<float>(milliseconds));
  w.put(std::uint32_t{0});
  std::string out = w.take();
  for (const Request::Output& output : request.outputs)
    out.append(static_cast<const char*>(output.view.data),
               static_cast<std::size_t>(output.view.elements()) * size_of(output.view.type));
  return out;
}

}  // namespace

Response respond(ParsedRequest parsed, Device& device) {
  if (parsed.status != 0) return {parsed.status, std::move(parsed.error)};
  const auto start = std::chrono::steady_clock::now();
  Outcome outcome;  // asked for, so that the call is done when it returns
  const Status status = device.run(parsed.request.call, &outcome);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  if (!status.ok()) return {status.code() == Code::invalid ? kRefused : kDeviceFailed, status.message()};
  return {0, parsed.request.binary ? in_binary(parsed.request, took.count())
                                   : in_text(parsed.request, device, took.count())};
}

}  // namespace tokitai::requests
