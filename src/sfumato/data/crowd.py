"""Four small classical crowdsourcing sets: bluebird, dog, rte and face."""

from sfumato.data.fetch import Dataset, RemoteFile

__all__ = ["DATASET"]

UPSTREAM = "https://raw.githubusercontent.com/yuan-li/truth-inference-at-scale/ff6d32971fb3ca17e2f0c784a126d8b26495dbce/data"

DATASET = Dataset(
    name="crowd",
    about=(
        "four small classical sets of crowd labels with the truth: bluebird, dog, rte, face "
        "(labels only)"
    ),
    source=(
        "github.com/yuan-li/truth-inference-at-scale (commit 621789b). bluebird: Welinder, "
        "Branson, Belongie, Perona, NIPS 2010; dog: Zhou, Platt, Basu, Mao, NIPS 2012; rte: "
        "Snow, O'Connor, Jurafsky, Ng, EMNLP 2008; face: from crowd_truth_infer."
    ),
    licence="MIT",
    files=(
        RemoteFile(
            "crowd/bluebird_label.csv",
            size=32_556,
            sha256="e9362c5b1af0dbace899acf1dd8c597dbdf25350285776bea0cf5255bc7bdfa3",
            url=f"{UPSTREAM}/SpectralMethodsMeetEM/bluebird/label.csv",
        ),
        RemoteFile(
            "crowd/bluebird_truth.csv",
            size=549,
            sha256="6ee30f25a19156cbb2741a8990ccae3bc1d0b60f17c3d560936d442a630d83e8",
            url=f"{UPSTREAM}/SpectralMethodsMeetEM/bluebird/truth.csv",
        ),
        RemoteFile(
            "crowd/dog_label.csv",
            size=70_135,
            sha256="c240c0efc442e4936b35f28424d66fb04e687c0f29b254af94c26e15a71aa820",
            url=f"{UPSTREAM}/crowd_truth_inference/s4_Dog%20data/label.csv",
        ),
        RemoteFile(
            "crowd/dog_truth.csv",
            size=4_743,
            sha256="b299494a7aba3cf5abcd3b0e002f6e899f3e1f1d864a26703325db355555cb76",
            url=f"{UPSTREAM}/SpectralMethodsMeetEM/dog/truth.csv",
        ),
        RemoteFile(
            "crowd/rte_label.csv",
            size=68_738,
            sha256="2ad788bb36cf9206c496ffdf5e4dec466a1de420bc0c403404e9d3367024ff66",
            url=f"{UPSTREAM}/SpectralMethodsMeetEM/rte/label.csv",
        ),
        RemoteFile(
            "crowd/rte_truth.csv",
            size=4_701,
            sha256="c30bcc6dcdfd703e6e435c24ac7e2da56d85e687be398c365d2b2656c8e7f3cb",
            url=f"{UPSTREAM}/SpectralMethodsMeetEM/rte/truth.csv",
        ),
        RemoteFile(
            "crowd/face_label.csv",
            size=45_172,
            sha256="fc10f625183432f6ed82d783ec0afb4a2e79009843a1c20757baad5c4e469686",
            url=f"{UPSTREAM}/crowd_truth_inference/s4_Face%20Sentiment%20Identification/label.csv",
        ),
        RemoteFile(
            "crowd/face_truth.csv",
            size=3_405,
            sha256="503987498b22b586a34bd9211cce88bf4fbb436396ccae3fd5e19a64a5a8dee9",
            url=f"{UPSTREAM}/crowd_truth_inference/s4_Face%20Sentiment%20Identification/truth.csv",
        ),
    ),
)
