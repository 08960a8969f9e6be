#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "machines/reference/machine.h"
#include "runtime/machine.h"

namespace tokitai {

// The reference with a fault in what it wrote.
class FaultyMachine : public Machine {
 public:
  using Fault = std::function<void(const Call&)>;
  explicit FaultyMachine(Fault after) : after_(std::move(after)) {}
  Status run(const Call& call, Outcome& outcome) override {
    Status status = inner_->run(call, outcome);
    if (status.ok()) after_(call);
    return status;
  }
  std::string description() const override { return "wrong on purpose"; }

 private:
  std::shared_ptr<Machine> inner_ = reference::make_machine();
  Fault after_;
};

}  // namespace tokitai
