// <msdbg/msdbg.h>: everything a training program needs.
#pragma once

#include "core_engine/graph/graph.h"
#include "core_engine/ops/functions.h"
#include "core_engine/passes/optimizer.h"
#include "core_engine/train/array_loader.h"
#include "core_engine/train/data.h"
#include "core_engine/train/early_stopping.h"
#include "core_engine/train/fit.h"
#include "core_engine/train/freeze.h"
#include "core_engine/train/keep.h"
#include "core_engine/train/layers.h"
#include "core_engine/train/losses.h"
#include "core_engine/train/mutable_input.h"
#include "core_engine/train/npy.h"
#include "core_engine/train/parameters_file.h"
#include "core_engine/train/reduce_lr_on_plateau.h"
#include "core_engine/train/safetensors.h"
#include "core_engine/train/trainer.h"
#include "dump/session/restore.h"
#include "dump/session/session.h"

namespace msdbg {

using core::Adam;
using core::AdamW;
using core::ArrayLoaderOptions;
using core::Arrays;
using core::Batch;
using core::BatchNormOptions;
using core::BuildError;
using core::Callback;
using core::concat;
using core::constant;
using core::constantSchedule;
using core::ConvOptions;
using core::cosineSchedule;
using core::DataLoader;
using core::DType;
using core::EarlyStopping;
using core::EmbeddingOptions;
using core::Error;
using core::ErrorCode;
using core::EvaluationResult;
using core::FitOptions;
using core::FitResult;
using core::freeze;
using core::Graph;
using core::GroupNormOptions;
using core::Init;
using core::InputSource;
using core::Iteration;
using core::keep;
using core::LinearOptions;
using core::LoaderOptions;
using core::LoadOptions;
using core::loadParameters;
using core::makeArrayLoader;
using core::makeLoader;
using core::Metrics;
using core::ModelValues;
using core::MonitorMode;
using core::mutableInput;
using core::Ok;
using core::Optimizer;
using core::OutOfMemory;
using core::ParameterGroup;
using core::PoolOptions;
using core::Rank;
using core::readNpy;
using core::readNpz;
using core::readSafetensors;
using core::ReduceLROnPlateau;
using core::Result;
using core::Round;
using core::RunContext;
using core::saveParameters;
using core::Schedule;
using core::Scope;
using core::Sgd;
using core::Shape;
using core::Shard;
using core::Status;
using core::StepResult;
using core::stepSchedule;
using core::Tensor;
using core::Trainer;
using core::TrainingControl;
using core::TrainingState;
using core::Value;
using core::writeSafetensors;
using dump::restore;
using dump::Session;

// Layers and operators (conv, linear, relu, softmaxCrossEntropy, …) are found through their Value arguments.

}  // namespace msdbg
