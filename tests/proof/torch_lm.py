# SPDX-License-Identifier: Apache-2.0
"""A language model with random weights: torch_lm.py llama|mixtral eager|graph|compile [TOKENS]

Prefill and decode with transformers (PyPI). Prints the digest of the prefill's hidden states in bf16, which are the same
in each run, then "decoded TOKENS of BATCH". The decoded tokens themselves differ natively, so only their count is printed.
With RATE set in the environment, stderr gets the decoded tokens per second.
"""
import hashlib
import os
import sys
import time

import torch
import transformers

BATCH, PROMPT = 4, 128


def make_model(kind):
    shape = {'vocab_size': 4096, 'hidden_size': 512, 'intermediate_size': 1408, 'num_hidden_layers': 4, 'num_attention_heads': 8,
             'num_key_value_heads': 4, 'max_position_embeddings': 1024}
    if kind == 'llama':
        config = transformers.LlamaConfig(**shape)
    else:
        config = transformers.MixtralConfig(num_local_experts=4, num_experts_per_tok=2, **shape)
    torch.manual_seed(1)
    return transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).cuda().eval()


def digest(tensor):
    return hashlib.sha256(tensor.contiguous().view(torch.uint8).cpu().numpy().tobytes()).hexdigest()[:16]


def decode_cached(model, cache, token, tokens):
    """Decodes with a cache that grows by torch.cat; returns the number of tokens per sequence of the batch."""
    for _ in range(tokens):
        out = model(token, past_key_values=cache, use_cache=True)
        token = out.logits[:, -1:].argmax(-1)
    return tokens


def decode_static(step, tokens):
    for _ in range(tokens):
        step()
    return tokens


def make_static_step(model, prompt, tokens, way):
    """Returns a function that decodes one token over a cache of fixed size."""
    cache = transformers.StaticCache(config=model.config, max_cache_len=PROMPT + tokens + 8)
    model(prompt, past_key_values=cache, use_cache=True, cache_position=torch.arange(PROMPT, device='cuda'))
    token, position = prompt[:, -1:].clone(), torch.tensor([PROMPT], device='cuda')
    forward = torch.compile(model.forward) if way == 'compile' else model.forward

    def step():
        out = forward(token, past_key_values=cache, use_cache=True, cache_position=position)
        token.copy_(out.logits[:, -1:].argmax(-1))
        position.add_(1)

    if way == 'compile':
        return step
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        step()
        step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def main():
    kind, way = sys.argv[1:3]
    tokens = int(sys.argv[3]) if len(sys.argv) > 3 else 64
    transformers.logging.set_verbosity_error()
    model = make_model(kind)
    prompt = torch.randint(4096, (BATCH, PROMPT), generator=torch.Generator().manual_seed(2)).cuda()
    with torch.inference_mode():
        out = model(prompt, use_cache=True, output_hidden_states=True)
        print('prefill', digest(torch.stack(out.hidden_states)), flush=True)
        if way == 'eager':
            decoded = lambda: decode_cached(model, out.past_key_values, prompt[:, -1:], tokens)
        else:
            step = make_static_step(model, prompt, tokens, way)
            decoded = lambda: decode_static(step, tokens)
        torch.cuda.synchronize()
        begun = time.perf_counter()
        print('decoded', decoded(), 'of', BATCH, flush=True)
        torch.cuda.synchronize()
        if os.environ.get('RATE'):
            print('tokens per second', round(BATCH * tokens / (time.perf_counter() - begun), 1), file=sys.stderr)


main()
