//! Queues of links: numbers, sizes and disciplines.

use topology::{LabNetwork, PlannedCodel, QueueSpec, WireQueue, described};

fn lab(queue: &str) -> String {
    format!(
        "hosts: {{a: {{}}, b: {{}}}}\nlinks:\n  - {{ends: [a, b], rate: 10mbit, queue: {queue}}}\n"
    )
}

#[test]
fn queues_are_numbers_sizes_and_disciplines() {
    let codel = PlannedCodel {
        packets: 1000,
        target: 5_000_000,
        interval: 100_000_000,
    };
    let fq_codel = WireQueue::FqCodel {
        codel: PlannedCodel {
            packets: 10_240,
            ..codel
        },
        flows: 1024,
        quantum: 1514,
    };
    let table = [
        ("7", WireQueue::Packets(7), "queue of 7 packets"),
        ("1e2", WireQueue::Packets(100), "queue of 100 packets"),
        ("64KiB", WireQueue::Bytes(65_536), "queue of 65536 bytes"),
        (
            "codel",
            WireQueue::Codel(codel),
            "queue of 1000 packets with CoDel (5 ms in 100 ms)",
        ),
        ("{codel: {}}", WireQueue::Codel(codel), "CoDel"),
        (
            "{codel: {limit: 9, target: 2ms}}",
            WireQueue::Codel(PlannedCodel {
                packets: 9,
                target: 2_000_000,
                ..codel
            }),
            "queue of 9 packets with CoDel (2 ms in 100 ms)",
        ),
        (
            "fq-codel",
            fq_codel,
            "queue of 10240 packets with FQ-CoDel (5 ms in 100 ms)",
        ),
        ("{fq-codel: {flows: 1024}}", fq_codel, "FQ-CoDel"),
    ];
    for (queue, expected, words) in table {
        let text = lab(queue);
        let network =
            LabNetwork::parse("x", &text).unwrap_or_else(|error| panic!("{queue}: {error}"));
        assert_eq!(network.links[0].wires[0].queue, expected, "{queue}");
        let text = described("x", &network);
        assert!(text.contains(words), "{text}");
    }
    for queue in ["7", "64KiB", "codel", "fq-codel"] {
        let spec: QueueSpec = queue.parse().unwrap();
        let json = serde_json::to_string(&spec).unwrap();
        assert_eq!(
            serde_json::from_str::<QueueSpec>(&json).unwrap(),
            spec,
            "{json}"
        );
    }
}

#[test]
fn what_is_wrong_with_a_queue_is_named_with_its_key() {
    let table = "
        -1 => x:3:
        {codel: {limit: 0}} => links[0].queue.codel.limit: is 0
        {codel: {target: 200ms}} => links[0].queue.codel.target: is not more than 0
        {codel: {interval: 0}} => links[0].queue.codel.interval: is not
        {fq-codel: {flows: 0}} => links[0].queue.fq-codel.flows: is not
        {fq-codel: {quantum: 1}} => links[0].queue.fq-codel.quantum: is
        {fq-codel: {target: 0}} => links[0].queue.fq-codel.target: is
        {red: {}} => x:3:
        {codel: {targt: 2ms}} => x:3:
        [codel] => x:3:
    ";
    for [queue, expected] in cases::rows(table) {
        let error = LabNetwork::parse("x", &lab(queue)).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{queue}: {error}");
    }
    let error = LabNetwork::parse("x", &lab("codl")).unwrap_err();
    assert!(
        error
            .message()
            .contains("64KiB for a size, codel or fq-codel"),
        "{error}"
    );
}
