// What is claimed about each part of a plan, over the index functions that are given.
#pragma once
#include "proofs/functions.h"
#include "proofs/scope.h"
#include "proofs/subject.h"

namespace tokitai::proofs {

void claim(const EachElements& part, const Functions& f, Report& report);
void claim(const ListSums& part, const Functions& f, Report& report);
void claim(const RowColumns& part, const Functions& f, Report& report);
void claim(const RowMemory& part, const Functions& f, Report& report);
void claim(const RowTeams& part, const Functions& f, Report& report);
void claim(const RowSums& part, const Functions& f, Report& report);
void claim(const SegmentSort& part, const Functions& f, Report& report);
void claim(const SegmentRows& part, const Functions& f, Report& report);
void claim(const SegmentSums& part, const Functions& f, Report& report);
void claim(const TileOutputs& part, const Functions& f, Report& report);
void claim(const TileGrid& part, const Functions& f, Report& report);
void claim(const TileFactor& part, const Functions& f, Report& report);
void claim(const TileChain& part, const Functions& f, Report& report);
void claim(const ProductWalk& part, const Functions& f, Report& report);
void claim(const ProductTiles& part, const Functions& f, Report& report);
void claim(const ProductRing& part, const Functions& f, Report& report);
void claim(const ProductOutputs& part, const Functions& f, Report& report);
void claim(const ProductBox& part, const Functions& f, Report& report);
void claim(const ProductScales& part, const Functions& f, Report& report);
void claim(const SlotTable& part, const Functions& f, Report& report);
void claim(const ProductGroups& part, const Functions& f, Report& report);
void claim(const PackedSpace& part, const Functions& f, Report& report);
void claim(const PackedGroups& part, const Functions& f, Report& report);
void claim(const PackedFactor& part, const Functions& f, Report& report);
void claim(const FragmentStages& part, const Functions& f, Report& report);
void claim(const FragmentWaves& part, const Functions& f, Report& report);
// The words that all of them are made of.
void claim_places(const Functions& f, Report& report);

}  // namespace tokitai::proofs
