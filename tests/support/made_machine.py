"""A made-up /proc and /sys: the sensors that this machine may not have."""

CPU = "sys/devices/system/cpu"
PCI = "sys/devices/pci0000:00/0000:00:03.0"
DISK = f"{PCI}/nvme/nvme0/nvme0n1"
RAPL = "sys/class/powercap/intel-rapl:"


def put(root, **files):
    """Write files; `/` in a name is written as itself by `**{}`."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")


def stat(ticks, interrupts=1000, switches=2000):
    """/proc/stat of two CPUs since boot: 20 ticks for each of `ticks`, 10 of them busy."""
    each = " ".join(str(ticks * n) for n in (4, 1, 2, 6, 3, 1, 2, 1, 1, 0))
    return (
        f"cpu  {' '.join(str(2 * int(n)) for n in each.split())}\n"
        f"cpu0 {each}\ncpu1 {each}\n"
        f"intr {interrupts} 5 0 7\nctxt {switches}\nbtime 1\n"
    )


def nvme(root, celsius=41.85):
    """An NVMe drive on a PCIe link, with its sensor; returns its folder."""
    put(
        root,
        **{
            f"{DISK}/queue/scheduler": "[none] mq-deadline",
            f"{DISK}/queue/write_cache": "write back",
            f"{DISK}/stat": "10 0 80 5 20 0 320 7 3 500 900 0 0 0 0 0 0",
            f"{DISK}/inflight": "       2        1",
            f"{PCI}/current_link_speed": "8.0 GT/s PCIe",
            f"{PCI}/max_link_speed": "16.0 GT/s PCIe",
            f"{PCI}/current_link_width": 2,
            f"{PCI}/max_link_width": 4,
            f"{PCI}/numa_node": 1,
            f"{PCI}/msi_irqs/40": "msix",
            f"{PCI}/msi_irqs/9": "msix",
            "proc/irq/40/smp_affinity_list": "0-3",
            "proc/irq/9/smp_affinity_list": "4",
            f"{PCI}/nvme/nvme0/hwmon3/name": "nvme",
            f"{PCI}/nvme/nvme0/hwmon3/temp1_max": 69850,
        },
    )
    heat(root, celsius)
    (root / DISK / "device").symlink_to("..")
    return root / DISK


def heat(root, celsius):
    put(root, **{f"{PCI}/nvme/nvme0/hwmon3/temp1_input": round(celsius * 1000)})


def rapl(root, **energy_uj):
    """One package with memory within it, and perhaps the whole platform."""
    places = {"package": "0", "core": "0:0", "dram": "0:2", "psys": "1"}
    names = {"package": "package-0"}
    for name, energy in energy_uj.items():
        folder = RAPL + places[name]
        put(
            root,
            **{
                f"{folder}/name": names.get(name, name),
                f"{folder}/energy_uj": energy,
                f"{folder}/max_energy_range_uj": 1_000_000_000,
            },
        )
