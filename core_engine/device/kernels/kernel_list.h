// All kernels: name, parameters, and whether threads speak to each other (the emulated device then runs them
// as fibers). The only list.
#pragma once

#define MSDBG_DEVICE_KERNELS(ALONE, TOGETHER)              \
  ALONE(map, MapParameters)                                \
  ALONE(combine, CombineParameters)                        \
  ALONE(transpose, TransposeParameters)                    \
  TOGETHER(transpose_tiles, TransposeTilesParameters)      \
  ALONE(part_copy, PartCopyParameters)                     \
  ALONE(cast, CastParameters)                              \
  TOGETHER(softmax, LineParameters)                        \
  TOGETHER(softmax_grad, LineParameters)                   \
  TOGETHER(log_softmax, LineParameters)                    \
  TOGETHER(log_softmax_grad, LineParameters)               \
  TOGETHER(layer_norm, LayerNormParameters)                \
  TOGETHER(layer_norm_grad, LayerNormGradParameters)       \
  ALONE(layer_norm_columns, LayerNormGradParameters)       \
  ALONE(layer_norm_fold, LayerNormGradParameters)          \
  TOGETHER(cross_entropy, CrossEntropyParameters)          \
  TOGETHER(mean_loss, CrossEntropyParameters)              \
  ALONE(cross_entropy_grad, CrossEntropyGradParameters)    \
  TOGETHER(inner_pieces, InnerReductionParameters)         \
  ALONE(inner_fold, InnerReductionParameters)              \
  ALONE(outer_reduction, OuterReductionParameters)         \
  TOGETHER(column_sums, OuterReductionParameters)          \
  ALONE(spread, SpreadParameters)                          \
  TOGETHER(batch_norm_sums, BatchNormParameters)           \
  ALONE(batch_norm_means, BatchNormParameters)             \
  TOGETHER(batch_norm_squares, BatchNormParameters)        \
  ALONE(batch_norm_moments, BatchNormParameters)           \
  ALONE(batch_norm, BatchNormParameters)                   \
  TOGETHER(batch_norm_grad_sums, BatchNormGradParameters)  \
  ALONE(batch_norm_grad_settings, BatchNormGradParameters) \
  ALONE(batch_norm_grad, BatchNormGradParameters)          \
  ALONE(max_pool, PoolParameters)                          \
  ALONE(max_pool_grad, PoolParameters)                     \
  ALONE(gather, GatherParameters)                          \
  TOGETHER(gather_order, GatherGradParameters)             \
  ALONE(gather_grad, GatherGradParameters)                 \
  ALONE(dropout, DropoutParameters)                        \
  ALONE(dropout_grad, DropoutGradParameters)               \
  ALONE(sgd_update, SgdParameters)                         \
  ALONE(adam_update, AdamParameters)                       \
  ALONE(accumulate_gradient, AccumulateParameters)         \
  ALONE(step_update, StepParameters)                       \
  TOGETHER(statistics, StatisticsParameters)               \
  TOGETHER(statistics_change, StatisticsParameters)        \
  TOGETHER(statistics_totals, StatisticsTotalsParameters)
