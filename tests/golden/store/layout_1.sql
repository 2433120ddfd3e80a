BEGIN TRANSACTION;
CREATE TABLE env (
	digest VARCHAR NOT NULL, 
	facts TEXT NOT NULL, 
	PRIMARY KEY (digest)
);
INSERT INTO "env" VALUES('b7c836b3f7e1ebb4c9262b65761e49cdba1541005834c786c862157b5d6db826','{"cores":64,"kernel":"6.1","name":"host-a"}');
CREATE TABLE event (
	session VARCHAR NOT NULL, 
	position INTEGER NOT NULL, 
	at VARCHAR NOT NULL, 
	kind VARCHAR NOT NULL, 
	text TEXT NOT NULL, 
	PRIMARY KEY (session, position), 
	FOREIGN KEY(session) REFERENCES session (id)
);
INSERT INTO "event" VALUES('20261121-054512-k3f9',1,'2026-11-21T06:00:00Z','state','written');
CREATE TABLE meta (
	name VARCHAR NOT NULL, 
	value VARCHAR NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "meta" VALUES('layout','1');
CREATE TABLE run (
	session VARCHAR NOT NULL, 
	seq INTEGER NOT NULL, 
	run_id VARCHAR NOT NULL, 
	test VARCHAR NOT NULL, 
	status VARCHAR NOT NULL, 
	env VARCHAR NOT NULL, 
	iops DOUBLE NOT NULL, 
	bandwidth_bytes_per_s DOUBLE NOT NULL, 
	mean_ns DOUBLE, 
	record TEXT NOT NULL, 
	PRIMARY KEY (session, seq), 
	FOREIGN KEY(session) REFERENCES session (id), 
	FOREIGN KEY(env) REFERENCES env (digest)
);
INSERT INTO "run" VALUES('20261121-054512-k3f9',1,'run-1','demo','ok','b7c836b3f7e1ebb4c9262b65761e49cdba1541005834c786c862157b5d6db826',300.0,1228800.0,9.53274311111111164775e+04,'{"schema_version":1,"session":"20261121-054512-k3f9","seq":1,"run_id":"run-1","status":"ok","cause":"","message":"","ioplan":"1.0","asked":{"plan":"demo","plan_file":"demo.ioplan","profile":"full","test":"demo","cell":{"qd":"2","bs":"4KiB"},"kind":"run","step":0,"round":0,"iteration":0,"after":null,"workload":{"streams":[{"name":"main","pattern":"random","read_percent":66.7,"trim_percent":0.0,"read_sizes":[{"size_bytes":4096,"percent":100.0}],"write_sizes":[{"size_bytes":4096,"percent":100.0}],"align_bytes":null,"qd":4,"threads":1,"rate":null,"pause_ns":0,"pause_every":1,"region":{"start_percent":0.0,"end_percent":100.0},"distribution":{"kind":"uniform"},"data":{"kind":"random","percent":0.0},"sync_every":null,"verify":false,"hosts":[]}]},"job":{"target":"/dev/sim0","capacity_bytes":1073741824,"block_bytes":512,"streams":[{"name":"main","pattern":"random","read_percent":66.7,"trim_percent":0.0,"read_sizes":[{"size_bytes":4096,"percent":100.0}],"write_sizes":[{"size_bytes":4096,"percent":100.0}],"align_bytes":null,"qd":4,"threads":1,"rate":null,"pause_ns":0,"pause_every":1,"region":{"start_percent":0.0,"end_percent":100.0},"distribution":{"kind":"uniform"},"data":{"kind":"random","percent":0.0},"sync_every":null,"verify":false,"hosts":[],"region_start_bytes":0,"region_end_bytes":1073741824}],"warmup_ns":0,"run_ns":3000000000,"limit_bytes":null,"passes":null,"interval_ns":1000000000,"seed":1,"read_only":true,"await_start":false,"mode":"auto"}},"backend":{"name":"sim","version":"1","mode":"","reason":"","facts":{}},"target":{"path":"/dev/sim0","capacity_bytes":1073741824},"started_at":"2026-11-21T05:45:12Z","ended_at":"2026-11-21T05:45:15Z","run_s":3.0,"streams":[{"name":"main","run_s":null,"directions":{"read":{"ios":600,"bytes":2457600,"errors":0,"iops":200.0,"bandwidth_bytes_per_s":819200.0,"latency":{"mean_ns":95762.17833333333,"min_ns":31726,"max_ns":247294,"stddev_ns":36541.69947653224,"percentiles":[{"percent":50.0,"latency_ns":88831.5,"supported":true},{"percent":90.0,"latency_ns":144895.5,"supported":true},{"percent":95.0,"latency_ns":164351.5,"supported":true},{"percent":99.0,"latency_ns":206335.5,"supported":false},{"percent":99.9,"latency_ns":247294.0,"supported":false},{"percent":99.99,"latency_ns":247294.0,"supported":false},{"percent":99.999,"latency_ns":247294.0,"supported":false}]}},"write":{"ios":300,"bytes":1228800,"errors":0,"iops":100.0,"bandwidth_bytes_per_s":409600.0,"latency":{"mean_ns":94457.93666666666,"min_ns":25060,"max_ns":229072,"stddev_ns":35830.57613713911,"percentiles":[{"percent":50.0,"latency_ns":90367.5,"supported":true},{"percent":90.0,"latency_ns":141823.5,"supported":true},{"percent":95.0,"latency_ns":160255.5,"supported":true},{"percent":99.0,"latency_ns":196095.5,"supported":false},{"percent":99.9,"latency_ns":228863.5,"supported":false},{"percent":99.99,"latency_ns":228863.5,"supported":false},{"percent":99.999,"latency_ns":228863.5,"supported":false}]}}},"total":{"ios":900,"bytes":3686400,"errors":0,"iops":300.0,"bandwidth_bytes_per_s":1228800.0,"latency":{"mean_ns":95327.43111111112,"min_ns":25060,"max_ns":247294,"stddev_ns":36311.411514238396,"percentiles":[{"percent":50.0,"latency_ns":89343.5,"supported":true},{"percent":90.0,"latency_ns":143871.5,"supported":true},{"percent":95.0,"latency_ns":164351.5,"supported":true},{"percent":99.0,"latency_ns":203263.5,"supported":false},{"percent":99.9,"latency_ns":247294.0,"supported":false},{"percent":99.99,"latency_ns":247294.0,"supported":false},{"percent":99.999,"latency_ns":247294.0,"supported":false}]}},"sync_ios":0,"backlog_ios":0,"verified_bytes":0,"verify_errors":0}],"directions":{"read":{"ios":600,"bytes":2457600,"errors":0,"iops":200.0,"bandwidth_bytes_per_s":819200.0,"latency":{"mean_ns":95762.17833333333,"min_ns":31726,"max_ns":247294,"stddev_ns":36541.69947653224,"percentiles":[{"percent":50.0,"latency_ns":88831.5,"supported":true},{"percent":90.0,"latency_ns":144895.5,"supported":true},{"percent":95.0,"latency_ns":164351.5,"supported":true},{"percent":99.0,"latency_ns":206335.5,"supported":false},{"percent":99.9,"latency_ns":247294.0,"supported":false},{"percent":99.99,"latency_ns":247294.0,"supported":false},{"percent":99.999,"latency_ns":247294.0,"supported":false}]}},"write":{"ios":300,"bytes":1228800,"errors":0,"iops":100.0,"bandwidth_bytes_per_s":409600.0,"latency":{"mean_ns":94457.93666666666,"min_ns":25060,"max_ns":229072,"stddev_ns":35830.57613713911,"percentiles":[{"percent":50.0,"latency_ns":90367.5,"supported":true},{"percent":90.0,"latency_ns":141823.5,"supported":true},{"percent":95.0,"latency_ns":160255.5,"supported":true},{"percent":99.0,"latency_ns":196095.5,"supported":false},{"percent":99.9,"latency_ns":228863.5,"supported":false},{"percent":99.99,"latency_ns":228863.5,"supported":false},{"percent":99.999,"latency_ns":228863.5,"supported":false}]}}},"total":{"ios":900,"bytes":3686400,"errors":0,"iops":300.0,"bandwidth_bytes_per_s":1228800.0,"latency":{"mean_ns":95327.43111111112,"min_ns":25060,"max_ns":247294,"stddev_ns":36311.411514238396,"percentiles":[{"percent":50.0,"latency_ns":89343.5,"supported":true},{"percent":90.0,"latency_ns":143871.5,"supported":true},{"percent":95.0,"latency_ns":164351.5,"supported":true},{"percent":99.0,"latency_ns":203263.5,"supported":false},{"percent":99.9,"latency_ns":247294.0,"supported":false},{"percent":99.99,"latency_ns":247294.0,"supported":false},{"percent":99.999,"latency_ns":247294.0,"supported":false}]}},"cpu":{"user_ns":250000000,"system_ns":250000000},"cpu_percent":16.666666666666668,"steady":null,"telemetry":null,"warnings":[],"substitutions":[]}');
CREATE TABLE run_blob (
	session VARCHAR NOT NULL, 
	seq INTEGER NOT NULL, 
	histograms BLOB NOT NULL, 
	series BLOB NOT NULL, 
	PRIMARY KEY (session, seq), 
	FOREIGN KEY(session, seq) REFERENCES run (session, seq)
);
INSERT INTO "run_blob" VALUES('20261121-054512-k3f9',1,X'01789CED973D4FC3301086731F765A150690189098324708892FF13758AB0C95E8D001860AA93F897F09DC9D9D26852275408AA2DEABB4B52FF6DD6BBB839FEBA228503E1F5014F379F5BA58BD5575B55E2E5EAAFAB1BE7BBA69EA6D74B35EBD2F357C7BFFD0349B10C20C79821462001302D977EA50DBC4DCB316423704E057E7FFD4A5A56D24FB41FCA3A83995F1D93AC9488E08ACCD92399E3D5F5D9E5C004D09A2840024C66C899174A265C676C5D45B2C76355295FCD01E1B602577D6D0736C59732969737F53514D44269805D643393DE7E208F539B401D721FA1ADA80EB10F9318D427E4CA3901FD328E4C7340A8DEF98BA5B3EE9AD1E8D47123050C6010B0A02D80B659074D957A4608898F9211261906BBE4018F1948922D28409E5873830920C600C328B632C390494B932819183C43465542C539E401D6829AD8E6614B01008E1C41EC991F210959A174A90E4AC01B41C04C9E83EFEDAA5AB16C9282F3317F831033124AA9212FAE419BA07DC3AD62D1217A0AF7535B2644A38655B990994D49C36B903BC96C1D2F662A6AACC64C9C6D07F1397CBE572B95C2E97EBA8F50D93001C5E',X'01789CE367606010006266208E36D43131B034831006B10C18E0030387BD830316F10F1FECEDED91450ECEEEB4E3ECFCFEE39B03AAFA1F3F7EACF7CFFFFAED2B9AF89F3F7FF8F3DF7370B23B3A3AA2887FF8E3AFCFCFCDC783268E0C1EFF0BCF3ADACCCCCC8C268E290201274E9CC02A9E929282CB8A010100CD0B2812');
CREATE TABLE run_telemetry (
	session VARCHAR NOT NULL, 
	seq INTEGER NOT NULL, 
	points BLOB NOT NULL, 
	PRIMARY KEY (session, seq), 
	FOREIGN KEY(session, seq) REFERENCES run (session, seq)
);
CREATE TABLE session (
	id VARCHAR NOT NULL, 
	"plan" VARCHAR NOT NULL, 
	plan_file VARCHAR NOT NULL, 
	plan_text TEXT NOT NULL, 
	started_at VARCHAR NOT NULL, 
	ended_at VARCHAR, 
	status VARCHAR NOT NULL, 
	backend VARCHAR NOT NULL, 
	target VARCHAR NOT NULL, 
	args TEXT NOT NULL, 
	env VARCHAR NOT NULL, 
	ioplan VARCHAR NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(env) REFERENCES env (digest)
);
INSERT INTO "session" VALUES('20261121-054512-k3f9','demo','demo.ioplan','test demo','2026-11-21T05:45:12Z',NULL,'running','sim','/dev/sim0','{"target": "/dev/sim0", "qd": 4}','b7c836b3f7e1ebb4c9262b65761e49cdba1541005834c786c862157b5d6db826','0.1.0');
CREATE TABLE target_state (
	target VARCHAR NOT NULL, 
	path TEXT NOT NULL, 
	name VARCHAR NOT NULL, 
	evidence TEXT NOT NULL, 
	session VARCHAR NOT NULL, 
	at VARCHAR NOT NULL, 
	PRIMARY KEY (target)
);
CREATE TABLE verdict (
	session VARCHAR NOT NULL, 
	seq INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	verdict TEXT NOT NULL, 
	PRIMARY KEY (session, seq, position), 
	FOREIGN KEY(session, seq) REFERENCES run (session, seq)
);
CREATE INDEX run_by_run_id ON run (run_id);
COMMIT;
