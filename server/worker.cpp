#include "server/worker.h"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "runtime/journal_keeper.h"
#include "server/arena.h"
#include "server/placed_call.h"

namespace tokitai::server {
namespace {

class Worker {
 public:
  Status open(const Hello& hello) {
    auto device = tokitai::open(hello.device, hello.options);
    if (!device.ok()) return device.status();
    device_ = std::move(device).value();
    return {};
  }
  const Device& device() const { return *device_; }

  // The first descriptor is the memory; what else came shows its owner that it is held.
  Status attach(const Attach& attach, std::vector<Descriptor> descriptors) {
    if (Status s = check_shared(descriptors.empty() ? -1 : descriptors[0].get(), attach.bytes); !s.ok()) return s;
    auto mapping = Mapping::make(descriptors[0].get(), attach.bytes);
    if (!mapping.ok()) return mapping.status();
    descriptors[0].close();
    memories_.insert_or_assign(attach.memory, Memory{std::move(descriptors), std::move(mapping).value()});
    return {};
  }
  void detach(std::uint32_t memory) { memories_.erase(memory); }

  Reply run(std::string_view body) {
    auto call = call_of(body);
    if (!call.ok()) return {call.status(), {}};
    Reply reply;
    reply.status = run_behind(call->journal, *device_, call->call, reply.outcome);
    return reply;
  }
  BytesNeeded workspace(std::string_view body) {
    auto call = call_of(body);
    if (!call.ok()) return {call.status(), 0};
    auto bytes = device_->workspace(call->call);
    return bytes.ok() ? BytesNeeded{{}, bytes.value()} : BytesNeeded{bytes.status(), 0};
  }

 private:
  struct Memory {
    std::vector<Descriptor> held;  // goes last, when nothing can be written any more
    Mapping mapping;
  };

  Result<CallOverMemory> call_of(std::string_view body) {
    auto number = memory_of_call(body);
    if (!number.ok()) return number.status();
    const auto memory = memories_.find(number.value());
    if (memory == memories_.end())
      return Status::invalid(fmt::format("a call in memory {}, which was not attached", number.value()));
    return call_over(body, memory->second.mapping.data(), memory->second.mapping.size());
  }

  std::map<std::uint32_t, Memory> memories_;
  std::optional<Device> device_;
};

}  // namespace

int serve(Channel channel) {
  constexpr int kUnreadable = 2;
  std::vector<Descriptor> descriptors;
  auto first = channel.receive(kNoDeadline, &descriptors);
  if (!first.ok()) return channel.ended() ? 0 : kUnreadable;
  auto hello = decode_hello(first->body);
  if (first->header.kind != Kind::hello || !hello.ok()) return kUnreadable;

  Worker worker;
  Welcome welcome;
  welcome.status = worker.open(hello.value());
  if (welcome.status.ok() && hello->shared_bytes > 0)
    welcome.status = worker.attach({0, hello->shared_bytes}, std::move(descriptors));
  if (welcome.status.ok()) {
    welcome.threads = worker.device().threads();
    welcome.description = worker.device().description();
    welcome.keeps_journal = keeps_journal(worker.device());
  }
  if (!channel.send(Kind::welcome, first->header.sequence, encode(welcome), kNoDeadline).ok()) return 0;
  if (!welcome.status.ok()) return 0;

  for (;;) {
    descriptors.clear();
    auto message = channel.receive(kNoDeadline, &descriptors);
    if (!message.ok()) return channel.ended() ? 0 : kUnreadable;
    const auto answer = [&](Kind kind, const std::string& body) {
      return channel.send(kind, message->header.sequence, body, kNoDeadline).ok();
    };
    bool heard = false;
    if (message->header.kind == Kind::call) {
      heard = answer(Kind::answer, encode(worker.run(message->body)));
    } else if (message->header.kind == Kind::workspace) {
      heard = answer(Kind::bytes_needed, encode(worker.workspace(message->body)));
    } else if (message->header.kind == Kind::attach) {
      auto attach = decode_attach(message->body);
      heard = answer(Kind::done,
                     encode(attach.ok() ? worker.attach(attach.value(), std::move(descriptors)) : attach.status()));
    } else if (message->header.kind == Kind::detach) {
      auto memory = decode_detach(message->body);
      if (memory.ok()) worker.detach(memory.value());
      heard = answer(Kind::done, encode(memory.ok() ? Status() : memory.status()));
    } else {
      return kUnreadable;
    }
    if (!heard) return 0;  // nobody is there
  }
}

}  // namespace tokitai::server
