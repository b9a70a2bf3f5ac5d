import gzip

import numpy as np
import pytest
from tests import likenesses
from tests.conftest import SHARED

import tellall as ta
from tellall.people.genomics.genotypes import Genotypes, PackedRows
from tellall.people.genomics.sites import Sites, match

AFREQ = "#CHROM\tID\tREF\tALT\tPROVISIONAL_REF?\tALT_FREQS\tOBS_CT\n"
PLACED = "#CHROM\tPOS\tID\tREF\tALT\tALT_FREQS\tOBS_CT\n"
BED = SHARED / "data" / "genotypes.bed"


def sites(*rows):
    return Sites.of(*zip(*rows, strict=True))


def test_the_three_frequency_formats_agree(tmp_path):
    (tmp_path / "a.afreq").write_text(
        AFREQ + "1\trs1\tG\tA\tY\t0.25\t200\n1\trs2\tC\tT\tY\tNA\t198\n1\trs3\tC\tT,G\tY\t0.1,0.2\t200\n"
    )
    (tmp_path / "b.frq").write_text(
        " CHR  SNP  A1  A2   MAF  NCHROBS\n 1  rs1   A   G  0.25      200\n 1  rs2   T   C    NA      200\n"
    )
    text = (
        "chromosome\tbase_pair_location\teffect_allele\tother_allele\tbeta\teffect_allele_frequency"
        "\tp_value\trsid\tn\n1\t100\tA\tG\t0.1\t0.25\t0.5\trs1\t100\n1\t200\tT\tC\t0.1\t#NA\t0.5\trs2\t100\n"
    )
    with gzip.open(tmp_path / "c.tsv.gz", "wt") as file:
        file.write(text)
    read = [ta.genomics.read_frequencies(tmp_path / name) for name in ("a.afreq", "b.frq", "c.tsv.gz")]
    for frequencies in read:
        assert frequencies.sites.ids.tolist() == ["rs1", "rs2"]
        assert frequencies.sites.counted.tolist() == ["A", "T"]
        assert frequencies.sites.other.tolist() == ["G", "C"]
        np.testing.assert_array_equal(frequencies.values, [0.25, np.nan])
        assert frequencies.n in (99, 100)
    assert read[0].skipped == 1
    assert read[2].sites.position.tolist() == [100, 200]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "a frequency file"),
        ("name value\nx 1\n", "Its first line is: name value"),
        (AFREQ, "a file with frequencies in it"),
        (AFREQ + "1\trs1\tG\tA\tY\t1.5\t200\n", "frequencies must be from 0 to 1"),
        (AFREQ + "1\trs1\tG\tA\tY\tmany\t200\n", "numbers where numbers belong"),
        (AFREQ + "1\trs1\tG\n", "a table of 7 columns"),
        (AFREQ + "1\trs1\tG\tA\tY\t0.5\tinf\n", "finite counts of zero or more; got inf in line 2"),
        (PLACED + "1\t99999999999999999999999\trs1\tG\tA\t0.5\t2\n", "positions from 0 to"),
        (PLACED + "1\t4e300\trs1\tG\tA\t0.5\t2\n", "positions from 0 to .* got 4e300 in line 2"),
        (PLACED + "1\tinf\trs1\tG\tA\t0.5\t2\n", "numbers where numbers belong"),
    ],
)
def test_bad_frequency_files_are_one_sentence(tmp_path, text, says):
    path = tmp_path / "x.afreq"
    path.write_text(text)
    with pytest.raises(ta.InvalidInput, match=says):
        ta.genomics.read_frequencies(path)
    with pytest.raises(ta.InvalidInput, match="a file that exists"):
        ta.genomics.read_frequencies(tmp_path / "no.afreq")


def test_alleles_are_matched_over_swaps_and_strands():
    first = sites(
        ("rs1", "1", 1, "A", "G"),
        ("rs2", "1", 2, "A", "G"),
        ("rs3", "1", 3, "A", "G"),
        ("rs4", "1", 4, "A", "G"),
        ("rs5", "1", 5, "A", "G"),
        ("rs6", "1", 6, "A", "T"),
        ("rs7", "1", 7, "A", "G"),
        (".", "chr2", 8, "c", "t"),
        ("rs1", "1", 1, "A", "G"),
    )
    second = sites(
        (".", "2", 8, "C", "T"),
        ("rs1", "1", 1, "A", "G"),
        ("rs2", "1", 2, "G", "A"),
        ("rs3", "1", 3, "T", "C"),
        ("rs4", "1", 4, "C", "T"),
        ("rs5", "1", 5, "A", "C"),
        ("rs6", "1", 6, "A", "T"),
    )
    found = match(first, second)
    assert found.first.tolist() == [0, 1, 2, 3, 7]
    assert found.second.tolist() == [1, 2, 3, 4, 0]
    assert found.flipped.tolist() == [False, True, False, True, False]
    assert found.swapped_strand == 2
    assert found.lost == {"not there": 1, "other alleles": 1, "strand unknown": 1, "twice": 1}
    assert 5 in match(first, second, palindromic=True).first


@pytest.mark.parametrize("broken", ["cut", "turned"])
def test_broken_gzip_files_are_one_sentence(tmp_path, broken):
    lines = (f"1\t{j}\trs{j}\tG\tA\t{j / 3000:.4f}\t200\n" for j in range(1, 3000))
    whole = gzip.compress((PLACED + "".join(lines)).encode())
    path = tmp_path / "x.afreq.gz"
    path.write_bytes(whole[:-500] if broken == "cut" else whole[:10] + b"\xff" * 500 + whole[510:])
    with pytest.raises(ta.InvalidInput, match=r"that is whole and sound; got .*x\.afreq\.gz"):
        ta.genomics.read_frequencies(path)


@pytest.mark.parametrize(
    ("one", "two", "place"),
    [
        ("23", "X", 9),
        ("chrX", "23", 9),
        ("24", "Y", 9),
        ("26", "MT", 9),
        ("25", "chrM", 9),
        ("25", "X", 200_000),
        ("XY", "X", 9),
        ("Chr2", "2", 9),
        ("CHR2", "2", 9),
        ("02", "chr2", 9),
    ],
)
def test_a_chromosome_has_one_name(one, two, place):
    found = match(sites((".", one, place, "A", "G")), sites((".", two, place, "A", "G")))
    assert found.first.tolist() == [0]
    assert match(sites((".", one, 9, "A", "G")), sites((".", "20", 9, "A", "G"))).first.size == 0


def test_every_record_of_a_name_or_place_is_tried():
    first = sites(("rs1", "1", 5, "A", "G"), ("rs1", "1", 5, "T", "G"), (".", "1", 7, "C", "T"))
    second = sites(
        ("rs1", "1", 5, "T", "G"), ("rs1", "1", 5, "A", "G"), (".", "1", 7, "G", "A"), (".", "1", 7, "T", "C")
    )
    found = match(first, second)
    assert found.first.tolist() == [0, 1, 2]
    assert found.second.tolist() == [1, 0, 3]  # the same strand is the better one
    assert found.flipped.tolist() == [False, False, True]
    assert found.lost == {}
    by_place = match(
        sites(("rs1", "1", 5, "A", "G")), sites(("rs1", "1", 9, "A", "C"), (".", "1", 5, "A", "G"))
    )
    assert by_place.second.tolist() == [1]
    fixed = match(sites(("rs1", "1", 5, "A", "G")), sites(("rs1", "1", 5, "0", "G")))
    assert fixed.lost == {"one allele only": 1}


def test_gwas_sites_go_by_their_rsid_then_by_place(tmp_path):
    header = (
        "variant_id\trsid\tchromosome\tbase_pair_location\teffect_allele\tother_allele"
        "\teffect_allele_frequency\n"
    )
    text = "1_100_G_A\trs1\t1\t100\tA\tG\t0.2\n1_200_G_A\tNA\t1\t200\tA\tG\t0.3\n"
    (tmp_path / "g.tsv").write_text(header + text)
    published = ta.genomics.read_frequencies(tmp_path / "g.tsv").sites
    assert published.ids.tolist() == ["rs1", "1_200_G_A"]
    other_build = sites(("rs1", "1", 1100, "A", "G"), ("rs2", "1", 200, "A", "G"))
    assert match(published, other_build).second.tolist() == [0, 1]


def test_sites_in_nobody_are_refused_with_the_reasons():
    rng = np.random.default_rng(0)
    genotypes = plain(rng)
    rows = sites(("rs1", "1", 2, "A", "C"), ("rs2", "1", 3, "A", "T"), ("zz", "9", 3, "A", "G"))
    published = ta.genomics.Frequencies(rows, np.array([0.1, 0.2, 0.3]), 10)
    with pytest.raises(ta.InvalidInput, match="that do not match the targets: 1 not there, 2 other alleles"):
        ta.genomics.align(published, genotypes, genotypes)


@pytest.mark.parametrize(("turned", "doubtful"), [(0, False), (60, False), (80, True), (200, True)])
def test_many_flipped_frequencies_are_doubtful(turned, doubtful):
    rng = np.random.default_rng(0)
    frequency = rng.uniform(0.01, 0.2, 200)
    calls = rng.binomial(2, frequency, (50, 200)).astype(np.int8)
    rows = sites(*((f"rs{j}", "1", j + 1, "A", "G") for j in range(200)))
    pool = genotypes_of(rows, calls)
    published = np.where(np.arange(200) < turned, 1 - frequency, frequency)
    found = ta.genomics.align(ta.genomics.Frequencies(rows, published, 50), pool, pool)
    assert found.doubtful == doubtful
    assert any("look as if" in note for note in found.notes) == (turned > 0)


def test_half_calls_are_missing_and_sites_of_one_allele_are_counted_apart(tmp_path):
    pytest.importorskip("cyvcf2")
    head = "##fileformat=VCFv4.2\n##contig=<ID=1>\n##FORMAT=<ID=GT,Number=1,Type=String,Description=x>\n"
    columns = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ta\tb\tc\td\te\n"
    body = (
        "1\t5\trs1\tG\tA\t.\t.\t.\tGT\t./1\t0/1\t1/.\t1/1\t0|.\n"
        "1\t6\trs2\tG\t.\t.\t.\t.\tGT\t0/0\t0/0\t0/0\t0/0\t0/0\n"
        "1\t7\trs3\tG\tA,T\t.\t.\t.\tGT\t0/0\t0/1\t0/2\t0/0\t0/0\n"
    )
    (tmp_path / "x.vcf").write_text(head + columns + body)
    found = ta.genomics.read_genotypes(tmp_path / "x.vcf")
    assert found.chunk(0, 1).copies()[:, 0].tolist() == [-1, 1, -1, 2, -1]
    assert (found.skipped, found.single) == (1, 1)
    notes = ta.genomics.align(ta.genomics.Frequencies(found.sites, np.array([0.5]), 5), found, found).notes
    assert "1 sites of the targets with one allele only left out." in notes


def genotypes_of(rows, calls):
    return Genotypes(tuple(f"p{i}" for i in range(len(calls))), rows, PackedRows.stored([calls], len(calls)))


def plain(rng, people=6, count=40):
    calls = rng.integers(0, 3, (people, count)).astype(np.int8)
    calls[0, :5] = -1
    rows = sites(*((f"rs{j}", "1", j + 1, "A", "G") for j in range(count)))
    return genotypes_of(rows, calls)


def test_flipped_genotypes_count_the_published_allele():
    rng = np.random.default_rng(0)
    genotypes = plain(rng)
    calls = genotypes.chunk(0, 40).copies()
    assert (calls[0, :5] == -1).all()
    other = np.where(calls < 0, calls, 2 - calls)
    turned = genotypes_of(
        Sites(
            genotypes.sites.ids,
            genotypes.sites.chromosome,
            genotypes.sites.position,
            genotypes.sites.other,
            genotypes.sites.counted,
        ),
        other,
    )
    order = rng.permutation(40)
    np.testing.assert_array_equal(turned.chunk(0, 40).copies(), other)
    shuffled = genotypes_of(sites(*((f"rs{j}", "1", j + 1, "G", "A") for j in order)), other[:, order])
    called = np.where(calls < 0, np.nan, calls)
    frequencies = ta.genomics.Frequencies(genotypes.sites, np.nanmean(called, axis=0) / 2, 6)
    alignment = ta.genomics.align(frequencies, genotypes, shuffled)
    np.testing.assert_array_equal(alignment.targets.chunk(0, 40).copies(), calls)
    np.testing.assert_array_equal(alignment.reference.chunk(0, 40).copies(), calls)
    np.testing.assert_array_equal(alignment.reference.chunk(7, 9).copies(), calls[:, 7:9])
    assert alignment.means.size == 40
    assert any("turned" in note for note in alignment.notes)
    wrong = ta.genomics.Frequencies(genotypes.sites, 1 - frequencies.values, 6)
    assert any("other allele's" in note for note in ta.genomics.align(wrong, genotypes, shuffled).notes)
    nowhere = ta.genomics.Frequencies(
        sites(*((f"x{j}", "9", j + 1, "A", "G") for j in range(40))), frequencies.values, 6
    )
    with pytest.raises(ta.InvalidInput, match="none in both"):
        ta.genomics.align(nowhere, genotypes, shuffled)


def test_plink_and_vcf_hold_the_same_calls(tmp_path):
    bed_reader = pytest.importorskip("bed_reader")
    pytest.importorskip("cyvcf2")
    genotypes = plain(np.random.default_rng(1))
    held = genotypes.chunk(0, 40).copies()
    properties = {
        "iid": list(genotypes.people),
        "sid": genotypes.sites.ids.tolist(),
        "chromosome": genotypes.sites.chromosome.tolist(),
        "bp_position": genotypes.sites.position.tolist(),
        "allele_1": genotypes.sites.counted.tolist(),
        "allele_2": genotypes.sites.other.tolist(),
    }
    marked = np.where(held < 0, np.int8(-127), held)
    bed_reader.to_bed(tmp_path / "g.bed", marked, properties=properties)
    bed_reader.to_bed(tmp_path / "rows.bed", marked, properties=properties, major="individual")
    words = {0: "0/0", 1: "0/1", 2: "1/1", -1: "./."}
    lines = [
        "##fileformat=VCFv4.2",
        '##FORMAT=<ID=GT,Number=1,Type=String,Description="G">',
        "##contig=<ID=1>",
    ]
    lines.append("\t".join(["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT"]))
    lines[-1] += "\t" + "\t".join(genotypes.people)
    for j in range(40):
        calls = "\t".join(words[int(call)] for call in held[:, j])
        lines.append(f"1\t{j + 1}\trs{j}\tG\tA\t.\t.\t.\tGT\t{calls}")
    lines.append("1\t99\trs99\tG\tA,T\t.\t.\t.\tGT\t" + "\t".join(["0/1"] * 6))
    (tmp_path / "g.vcf").write_text("\n".join(lines) + "\n")
    names = ("g.bed", "rows.bed", "g.vcf")  # a row per site, a row per person
    plink, by_person, vcf = (ta.genomics.read_genotypes(tmp_path / name) for name in names)
    for read in (plink, by_person, vcf):
        np.testing.assert_array_equal(read.chunk(0, 40).copies(), held)
        assert read.people == genotypes.people
        assert read.sites.counted.tolist() == genotypes.sites.counted.tolist()
        for index in ([7, 3], [3, 4, 5], [0, 39], [5, 6, 8], []):
            packed = read.calls(np.array(index, dtype=int), np.zeros(len(index), bool))
            np.testing.assert_array_equal(packed.codes(), np.where(held < 0, 3, held)[:, index])
    assert (plink.skipped, vcf.skipped) == (0, 1)
    whole = (tmp_path / "g.bed").read_bytes()
    (tmp_path / "g.bed").write_bytes(whole[:-1])
    with pytest.raises(ta.InvalidInput, match=r"path must be of 83 bytes, for the 6 people .* 40 sites"):
        ta.genomics.read_genotypes(tmp_path / "g.bed")
    (tmp_path / "g.bim").unlink()
    with pytest.raises(ta.InvalidInput, match=r"with its \.bim file"):
        ta.genomics.read_genotypes(tmp_path / "g.bed")


def test_bad_genotype_files_are_one_sentence(tmp_path, monkeypatch):
    with pytest.raises(ta.InvalidInput, match="a file ending in"):
        ta.genomics.read_genotypes("x.ped")
    with pytest.raises(ta.InvalidInput, match="a file that exists"):
        ta.genomics.read_genotypes(tmp_path / "no.bed")
    (tmp_path / "x.bed").write_bytes(b"nothing")
    monkeypatch.setattr("tellall.people.genomics.genotypes.find_spec", lambda name: None)
    with pytest.raises(ta.InvalidInput, match=r"pip install 'tellall\[genomics\]'"):
        ta.genomics.read_genotypes(tmp_path / "x.bed")


@pytest.fixture(scope="module", params=["real", "generated"])
def tuscans(request, tmp_path_factory):
    """Calls of 107 people of one population, from a BED file: real ones, and generated ones of that shape."""
    pytest.importorskip("bed_reader")
    if request.param == "real" and not BED.is_file():
        pytest.skip("the real genotypes are not beside this checkout; the generated ones stand in")
    path = BED if request.param == "real" else likenesses.genotypes(tmp_path_factory.mktemp("bed"))
    genotypes = ta.genomics.read_genotypes(path)
    table = np.loadtxt(path.with_suffix(".pop.csv"), delimiter=",", skiprows=1, dtype=str)
    calls = genotypes.chunk(0, len(genotypes.sites)).copies()
    assert calls.shape == (503, 10_025)
    assert (calls < 0).sum() == 5108
    return calls[table[:, 1] == "TSI"]


def false_positives(calls, repeats, attack, threshold, seed=0, **options):
    """The share of 18 outsiders named, per random split of one population: 30 in, 59 reference people."""
    rng = np.random.default_rng(seed)
    shares = []
    for _ in range(repeats):
        order = rng.permutation(len(calls))
        cohort = calls[order[:30]]
        called = (cohort >= 0).sum(axis=0)
        copies = np.where(cohort >= 0, cohort, 0).sum(axis=0)
        means = np.where(called > 0, copies / np.maximum(2 * called, 1), np.nan)
        tracing = ta.trace(
            means,
            calls[order[89:]],
            calls[order[30:89]],
            attack=attack,
            threshold=threshold,
            coding="genotypes",
            anyway=True,  # the split is random; hundreds of checks would refuse some of them
            **options,
        )
        shares.append(tracing.member.mean())
    return np.array(shares)


def test_empirical_level_on_genomes(tuscans):
    """150 splits of 107 Tuscans over every 20th site, 59 reference people: the level is 0.05.

    A split's share has standard deviation below 0.075, so five standard errors of the mean are 0.031.
    """
    calls = tuscans[:, ::20]
    for attack, options in (("single", {}), ("pool", {"alpha": 0.1}), ("likelihood-ratio", {"n": 30})):
        shares = false_positives(calls, 150, attack, "empirical", **options)
        assert abs(shares.mean() - 0.05) < 0.031, attack


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attack", "options"),
    [("single", {}), ("pool", {"alpha": 0.1}), ("likelihood-ratio", {"n": 30}), ("homer", {})],
)
def test_empirical_level_on_genomes_in_full(tuscans, attack, options):
    """2,000 splits, all sites: within [0.045, 0.055]; the seed is fixed and the standard error is 0.0016."""
    shares = false_positives(tuscans, 2000, attack, "empirical", **options)
    assert 0.045 <= shares.mean() <= 0.055


def test_members_are_traced(tuscans):
    calls = tuscans
    frequency = np.where(calls[:30] >= 0, calls[:30], 0).sum(axis=0) / 60
    tracing = ta.trace(
        frequency, calls[:48], calls[48:], attack="pool", threshold="empirical", coding="genotypes"
    )
    assert tracing.member[:30].all()
    assert tracing.member[30:].sum() <= 6
    assert ta.score(tracing, np.arange(48) < 30).auc.value > 0.99
