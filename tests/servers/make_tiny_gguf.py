"""Write a tiny GGUF of the LLaMA architecture with random weights: ``python make_tiny_gguf.py tiny.gguf``.

With this model, tests run a real llama.cpp server with a file of well under a megabyte and no download.

The tokeniser is byte-level BPE with whole words from WORDS. Channel 0 of the residual stream is constant, so column 0
of the output matrix is a bias of each token: it makes whole words likely, unprintable bytes impossible, and <|im_end|>
arrive after 40 tokens on average. The other channels make the logits depend on the context.
"""

import argparse

WORDS = (
    "the a of to and in is that it as not this with but "
    "for was are be by on I think agree disagree because text label rule "
    "example tone claim reads positive negative neutral yes no maybe clearly perhaps however therefore "
    "evidence suggests author means literal sarcastic context unclear definition applies my view would change "
    "if you "
).split()
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
MEAN_TOKENS = 40
SPECIAL = ["<|bos|>", "<|im_start|>", "<|im_end|>", "<|pad|>"]


def bytes_to_unicode():
    """Return the printable character that GPT-2 uses for each byte."""
    keep = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table, extra = {b: chr(b) for b in keep}, 0
    for b in range(256):
        if b not in table:
            table[b] = chr(256 + extra)
            extra += 1
    return table


def build_vocab():
    b2u = bytes_to_unicode()
    tokens, merges, words = [b2u[b] for b in range(256)], [], set()
    index = set(tokens)
    for word in [" " + w for w in WORDS] + WORDS:
        parts = [b2u[b] for b in word.encode()]
        left = parts[0]
        for right in parts[1:]:
            merge = f"{left} {right}"
            left += right
            if merge not in merges:
                merges.append(merge)
            if left not in index:
                index.add(left)
                tokens.append(left)
        if word.startswith(" "):
            words.add(left)
    return tokens, merges, words


def main():
    import gguf
    import numpy as np

    ap = argparse.ArgumentParser()
    ap.add_argument("out")
    ap.add_argument("--layers", type=int, default=1)
    ap.add_argument("--quote", type=float, default=4, help="weight of a quotation mark; 7 ends JSON strings soon")
    args = ap.parse_args()
    dim, ffn, heads, kv_heads = 64, 128, 4, 2
    head_dim = dim // heads

    tokens, merges, words = build_vocab()
    n_plain = len(tokens)
    tokens += SPECIAL
    n_vocab = len(tokens)
    types = [gguf.TokenType.NORMAL] * n_plain + [gguf.TokenType.CONTROL] * len(SPECIAL)
    tid = {t: i for i, t in enumerate(tokens)}

    w = gguf.GGUFWriter(args.out, "llama")
    w.add_name("tiny-random")
    w.add_file_type(gguf.LlamaFileType.ALL_F32)
    w.add_vocab_size(n_vocab)
    w.add_context_length(32768)
    w.add_embedding_length(dim)
    w.add_block_count(args.layers)
    w.add_feed_forward_length(ffn)
    w.add_head_count(heads)
    w.add_head_count_kv(kv_heads)
    w.add_rope_dimension_count(head_dim)
    w.add_layer_norm_rms_eps(1e-5)
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("gpt-2")
    w.add_token_list(tokens)
    w.add_token_types(types)
    w.add_token_merges(merges)
    w.add_bos_token_id(tid["<|bos|>"])
    w.add_eos_token_id(tid["<|im_end|>"])
    w.add_pad_token_id(tid["<|pad|>"])
    w.add_add_bos_token(False)
    w.add_chat_template(CHATML)

    rng = np.random.default_rng(0)

    def gauss(*shape, std=0.08):
        return rng.normal(0, std, shape).astype(np.float32)

    emb = gauss(n_vocab, dim, std=1.0)
    emb[:, 0] = 8.0  # the constant channel
    x0 = 8.0 / np.sqrt((64 + dim - 1) / dim)  # its value after the final norm

    bias = np.full(n_vocab, -2.0, np.float32)  # word fragments: rare
    for b in range(256):  # single bytes
        c = bytes_to_unicode()[b]
        bias[tid[c]] = 0.0 if 32 <= b < 127 else (-8.0 if b == 10 else -30.0)
    for t in words:
        bias[tid[t]] = 4.0
    bias[tid["."]] = bias[tid[","]] = 4.0
    bias[tid['"']] = args.quote
    bias[n_plain:] = -30.0
    others = np.exp(bias).sum()
    bias[tid["<|im_end|>"]] = np.log(others / (MEAN_TOKENS - 1))

    out = gauss(n_vocab, dim, std=0.1)
    out[:, 0] = bias / x0
    w.add_tensor("token_embd.weight", emb)
    w.add_tensor("output.weight", out)
    w.add_tensor("output_norm.weight", np.ones(dim, np.float32))
    for i in range(args.layers):
        p = f"blk.{i}."
        w.add_tensor(p + "attn_norm.weight", np.ones(dim, np.float32))
        w.add_tensor(p + "ffn_norm.weight", np.ones(dim, np.float32))
        w.add_tensor(p + "attn_q.weight", gauss(dim, dim))
        w.add_tensor(p + "attn_k.weight", gauss(head_dim * kv_heads, dim))
        w.add_tensor(p + "attn_v.weight", gauss(head_dim * kv_heads, dim))
        attn_out, down = gauss(dim, dim), gauss(dim, ffn)
        attn_out[0] = down[0] = 0.0  # nothing writes to channel 0
        w.add_tensor(p + "attn_output.weight", attn_out)
        w.add_tensor(p + "ffn_gate.weight", gauss(ffn, dim))
        w.add_tensor(p + "ffn_up.weight", gauss(ffn, dim))
        w.add_tensor(p + "ffn_down.weight", down)

    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


if __name__ == "__main__":
    main()
