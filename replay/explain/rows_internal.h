// The rows of the table of dependences, by family. Each is a DependenceFn.
#pragma once

#include "replay/explain/dependence.h"

namespace msdbg::replay {

using RowResult = core::Result<Relation>;

// Element by element, with broadcasting. rows_elementwise.cpp
RowResult functionOfAll(const Asked& asked);  // of the element of every input that belongs to this one
RowResult addRow(const Asked& asked);
RowResult subRow(const Asked& asked);
RowResult mulRow(const Asked& asked);
RowResult negRow(const Asked& asked);
RowResult maxRow(const Asked& asked);
RowResult minRow(const Asked& asked);
RowResult whereRow(const Asked& asked);
RowResult dropoutRow(const Asked& asked);
RowResult dropoutGradRow(const Asked& asked);

// Values at other places. rows_rearranging.cpp
RowResult sameElement(const Asked& asked);
RowResult transposeRow(const Asked& asked);
RowResult expandRow(const Asked& asked);
RowResult sliceRow(const Asked& asked);
RowResult sliceGradRow(const Asked& asked);
RowResult concatRow(const Asked& asked);
RowResult splitRow(const Asked& asked);
RowResult gatherRow(const Asked& asked);
RowResult gatherGradRow(const Asked& asked);
RowResult padRow(const Asked& asked);
RowResult padGradRow(const Asked& asked);
RowResult triluRow(const Asked& asked);
RowResult oneHotRow(const Asked& asked);
RowResult rangeRow(const Asked& asked);

// Matrix products and convolutions. rows_contraction.cpp
RowResult gemmRow(const Asked& asked);
RowResult matMulRow(const Asked& asked);
RowResult convRow(const Asked& asked);
RowResult convGradInputRow(const Asked& asked);
RowResult convGradWeightRow(const Asked& asked);

// rows_reduction.cpp
RowResult reduceSumRow(const Asked& asked);
RowResult reduceMeanRow(const Asked& asked);
RowResult reduceSumSquareRow(const Asked& asked);
RowResult reduceMaxRow(const Asked& asked);
RowResult reduceMinRow(const Asked& asked);
RowResult reduceSumGradRow(const Asked& asked);
RowResult reduceMeanGradRow(const Asked& asked);
RowResult reduceExtremeGradRow(const Asked& asked);
RowResult argMaxRow(const Asked& asked);

// rows_pooling.cpp
RowResult maxPoolRow(const Asked& asked);
RowResult maxPoolGradRow(const Asked& asked);
RowResult averagePoolRow(const Asked& asked);
RowResult averagePoolGradRow(const Asked& asked);
RowResult globalAveragePoolRow(const Asked& asked);

// rows_softmax.cpp
RowResult softmaxRow(const Asked& asked);
RowResult softmaxGradRow(const Asked& asked);
RowResult logSoftmaxGradRow(const Asked& asked);
RowResult crossEntropyRow(const Asked& asked);
RowResult crossEntropyGradRow(const Asked& asked);

// rows_normalisation.cpp
RowResult batchNormRow(const Asked& asked);
RowResult batchNormGradRow(const Asked& asked);
RowResult layerNormRow(const Asked& asked);
RowResult layerNormGradRow(const Asked& asked);
RowResult groupNormRow(const Asked& asked);
RowResult groupNormGradRow(const Asked& asked);

// What optimizers make of a parameter. rows_update.cpp
RowResult sgdRow(const Asked& asked);
RowResult adamRow(const Asked& asked);
RowResult accumulateRow(const Asked& asked);

}  // namespace msdbg::replay
