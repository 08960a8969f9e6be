#include "server/worker.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "server/arena.h"

namespace tokitai::server {
namespace {

class Worker {
 public:
  Status open(const Hello& hello, int memory) {
    if (Status s = check_shared(memory, hello.shared_bytes); !s.ok()) return s;
    auto mapping = Mapping::make(memory, hello.shared_bytes);
    if (!mapping.ok()) return mapping.status();
    shared_ = std::move(mapping).value();
    auto device = tokitai::open(hello.device, hello.options);
    if (!device.ok()) return device.status();
    device_ = std::move(device).value();
    return {};
  }
  const Device& device() const { return *device_; }

  Reply run(std::string_view body) {
    auto placed = decode_call(body, shared_.size());
    if (!placed.ok()) return {placed.status(), {}};
    Reply reply;
    point(placed.value());
    reply.status = device_->run(placed->call, &reply.outcome);
    return reply;
  }
  BytesNeeded workspace(std::string_view body) {
    auto placed = decode_call(body, shared_.size());
    if (!placed.ok()) return {placed.status(), 0};
    point(placed.value());
    auto bytes = device_->workspace(placed->call);
    return bytes.ok() ? BytesNeeded{{}, bytes.value()} : BytesNeeded{bytes.status(), 0};
  }

 private:
  // Gives the views their pointers. What is read in one place and written in another is stored apart where the machine
  // can, and else copied to where it is written first.
  void point(PlacedCall& placed) {
    Call& call = placed.call;
    const bool list = call.contract->list;
    if (list && device_->stores_apart()) call.into = call.list;
    for (std::size_t t = 0; t < placed.places.size(); ++t)
      for (std::size_t i = 0; i < call.contract->operands.size(); ++i) {
        const Place& place = placed.places[t][i];
        View& view = list ? call.list[t][i] : call.operands[i];
        if (!call.into.empty()) {
          view.data = shared_.data() + place.read;
          call.into[t][i].data = shared_.data() + place.write;
          continue;
        }
        view.data = shared_.data() + place.write;
        if (view.present() && place.read != place.write)
          std::memmove(view.data, shared_.data() + place.read, static_cast<std::size_t>(extent_of(view)));
      }
  }

  Mapping shared_;
  std::optional<Device> device_;
};

}  // namespace

int serve(Channel channel) {
  constexpr int kUnreadable = 2;
  Descriptor memory;
  auto first = channel.receive(kNoDeadline, &memory);
  if (!first.ok()) return channel.ended() ? 0 : kUnreadable;
  auto hello = decode_hello(first->body);
  if (first->header.kind != Kind::hello || !hello.ok()) return kUnreadable;

  Worker worker;
  Welcome welcome;
  welcome.status = worker.open(hello.value(), memory.get());
  memory.close();
  if (welcome.status.ok()) {
    welcome.threads = worker.device().threads();
    welcome.description = worker.device().description();
  }
  if (!channel.send(Kind::welcome, first->header.sequence, encode(welcome), kNoDeadline).ok()) return 0;
  if (!welcome.status.ok()) return 0;

  for (;;) {
    auto message = channel.receive(kNoDeadline);
    if (!message.ok()) return channel.ended() ? 0 : kUnreadable;
    Status sent;
    if (message->header.kind == Kind::call)
      sent = channel.send(Kind::answer, message->header.sequence, encode(worker.run(message->body)), kNoDeadline);
    else if (message->header.kind == Kind::workspace)
      sent = channel.send(Kind::bytes_needed, message->header.sequence, encode(worker.workspace(message->body)),
                          kNoDeadline);
    else
      return kUnreadable;
    if (!sent.ok()) return 0;  // nobody is there to hear it
  }
}

}  // namespace tokitai::server
