"""Serve a GGUF with llama.cpp's own HTTP server (the one in the xllamacpp wheel), until SIGTERM."""

import argparse
import os
import signal
import threading

import xllamacpp as x

ap = argparse.ArgumentParser()
ap.add_argument("model")
ap.add_argument("--port", type=int, required=True)
ap.add_argument("--slots", type=int, default=4)
ap.add_argument("--ctx", type=int, default=4096, help="tokens per slot")
ap.add_argument("--api-key")
ap.add_argument("--embeddings", action="store_true", help="serve embeddings instead of completions")
a = ap.parse_args()

p = x.CommonParams()
p.model.path = a.model
p.hostnames = ["127.0.0.1"]
p.port = a.port
p.n_parallel = a.slots
p.n_ctx = a.ctx * a.slots
p.model_alias = {"tiny-random"}
p.n_gpu_layers = 0
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = 1  # spinning threads hurt on shared cores
p.warmup = False
p.fit_params = False
p.endpoint_metrics = p.endpoint_slots = True
p.use_jinja = True
p.ui = False
p.verbosity = 0
if a.embeddings:
    p.embedding = True
    p.pooling_type = x.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
if a.api_key:
    p.api_keys = [a.api_key]
server = x.Server(p)
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
threading.Event().wait()
