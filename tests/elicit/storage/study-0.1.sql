BEGIN TRANSACTION;
CREATE TABLE answer (
	trial INTEGER NOT NULL, 
	answer TEXT NOT NULL, 
	mode TEXT NOT NULL, 
	faults TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	received DOUBLE NOT NULL, 
	seconds DOUBLE NOT NULL, 
	input_seconds TEXT NOT NULL, 
	late BOOLEAN NOT NULL, 
	changed INTEGER NOT NULL, 
	PRIMARY KEY (trial), 
	FOREIGN KEY(trial) REFERENCES trial (id)
);
INSERT INTO "answer" VALUES(1,'"dog"','faithful','[]','annkey00001',1700000005.0,2.5,'{}',0,0);
INSERT INTO "answer" VALUES(2,'"cat"','faithful','[]','annkey00002',1700000010.0,2.5,'{}',0,0);
INSERT INTO "answer" VALUES(3,'"dog"','faithful','[]','annkey00003',1700000015.0,2.5,'{}',0,0);
INSERT INTO "answer" VALUES(4,'"cat"','faithful','[]','annkey00004',1700000020.0,2.5,'{}',0,0);
INSERT INTO "answer" VALUES(5,'"dog"','faithful','[]','bobkey00001',1700000025.0,2.5,'{}',0,0);
INSERT INTO "answer" VALUES(6,'"cat"','faithful','[]','bobkey00002',1700000030.0,2.5,'{}',0,0);
INSERT INTO "answer" VALUES(7,'"dog"','faithful','[]','bobkey00003',1700000035.0,2.5,'{}',0,0);
INSERT INTO "answer" VALUES(8,'"cat"','faithful','[]','bobkey00004',1700000040.0,2.5,'{}',0,0);
INSERT INTO "answer" VALUES(9,'"dog"','faithful','[]','cydkey00001',1700000045.0,2.5,'{}',0,0);
INSERT INTO "answer" VALUES(10,'"cat"','faithful','[]','cydkey00002',1700000050.0,2.5,'{}',0,0);
CREATE TABLE answer_event (
	id INTEGER NOT NULL, 
	trial INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	at DOUBLE NOT NULL, 
	data TEXT NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(trial) REFERENCES trial (id)
);
INSERT INTO "answer_event" VALUES(1,1,'answer',1700000005.0,'{"answer": "\"dog\""}');
INSERT INTO "answer_event" VALUES(2,2,'answer',1700000010.0,'{"answer": "\"cat\""}');
INSERT INTO "answer_event" VALUES(3,3,'answer',1700000015.0,'{"answer": "\"dog\""}');
INSERT INTO "answer_event" VALUES(4,4,'answer',1700000020.0,'{"answer": "\"cat\""}');
INSERT INTO "answer_event" VALUES(5,5,'answer',1700000025.0,'{"answer": "\"dog\""}');
INSERT INTO "answer_event" VALUES(6,6,'answer',1700000030.0,'{"answer": "\"cat\""}');
INSERT INTO "answer_event" VALUES(7,7,'answer',1700000035.0,'{"answer": "\"dog\""}');
INSERT INTO "answer_event" VALUES(8,8,'answer',1700000040.0,'{"answer": "\"cat\""}');
INSERT INTO "answer_event" VALUES(9,9,'answer',1700000045.0,'{"answer": "\"dog\""}');
INSERT INTO "answer_event" VALUES(10,10,'answer',1700000050.0,'{"answer": "\"cat\""}');
CREATE TABLE audit (
	id INTEGER NOT NULL, 
	at DOUBLE NOT NULL, 
	who TEXT NOT NULL, 
	what TEXT NOT NULL, 
	data TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "audit" VALUES(1,1700000050.0,'admin 00000000','exclude','{"participant": 2, "rule": "by hand", "places": 3}');
CREATE TABLE flag (
	id INTEGER NOT NULL, 
	session INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	at DOUBLE NOT NULL, 
	data TEXT NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(session) REFERENCES session (id)
);
CREATE TABLE image (
	id TEXT NOT NULL, 
	file TEXT NOT NULL, 
	width INTEGER NOT NULL, 
	height INTEGER NOT NULL, 
	sha256 TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "image" VALUES('07367e2b9f02fc275dd3d60405aa6591','07367e2b9f02fc275dd3d60405aa6591.png',160,160,'4332373fc4fbd51168aec10aa421da81bb6324c53d5a72451af72fc4b0ca2878');
INSERT INTO "image" VALUES('9b0a3985e431d9a72b8885405d89cbba','9b0a3985e431d9a72b8885405d89cbba.png',160,160,'a44d4809840d4b091b0f0027a10860d826a04a8b45168c83957e767d26b0a1aa');
INSERT INTO "image" VALUES('7a65391db284113f2baa276032f7d608','7a65391db284113f2baa276032f7d608.png',160,160,'36696fd1935146e4ad7eb5aaa9a619c15a0750904eba7d59f32990adb929fbe3');
INSERT INTO "image" VALUES('4877957534ac3f73291e75449fca6805','4877957534ac3f73291e75449fca6805.png',160,160,'9ac42040bb4e47befcfa1f52357bfaecbfbc8392c96921a00b664c2c51bc5f75');
CREATE TABLE meta (
	"key" TEXT NOT NULL, 
	value TEXT, 
	PRIMARY KEY ("key")
);
INSERT INTO "meta" VALUES('schema_version','1');
INSERT INTO "meta" VALUES('strata','[]');
INSERT INTO "meta" VALUES('study','{"name":"pets","title":"What is in the image?","preset":"choose-one","form":"choose-one","classes":["cat","dog"],"wording":"Categorize the image by clicking one of the labels surrounding it, as quickly and accurately as possible.","prompts":{},"options":{},"version":"1","mode":"faithful","language":"en","per_item":3,"reserve_minutes":30.0,"resume_hours":24.0,"converged_below":0.02,"rules":["checks"],"welcome":{"consent":[],"consent_version":"1","instructions":[],"comprehension":[],"comprehension_tries":2,"debrief":["Odd?"]},"layout":{"trials_per_person":3,"per_class":false,"practice":0,"checks_every":0,"repeats":1,"repeat_numbers":[],"shuffle_classes":true,"allow_back":false,"whole_batches":false},"recruiting":{"platform":"link","id_parameter":"participant","study_id":"","completion_code":"","screened_out_code":"","completion_url":"","places":null,"pay":1.5,"currency":"USD","bonus":null,"hourly":null,"hourly_with_bonus":null,"ethics_reference":"","qualification":""}}');
INSERT INTO "meta" VALUES('created','1795002255.0328631');
CREATE TABLE participant (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	pseudonym TEXT NOT NULL, 
	consent_version TEXT NOT NULL, 
	consent_hash TEXT NOT NULL, 
	consent_at DOUBLE NOT NULL, 
	excluded TEXT, 
	excluded_at DOUBLE, 
	paid TEXT, 
	withdrawn_at DOUBLE, 
	UNIQUE (pseudonym)
);
INSERT INTO "participant" VALUES(1,'e69b78709c8cf518579364b2581b4840','not asked','e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',1700000000.0,NULL,NULL,NULL,NULL);
INSERT INTO "participant" VALUES(2,'48d7acb93ff6fc5a5ef845aa5afb37d6','not asked','e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',1700000020.0,'by hand',1700000050.0,NULL,NULL);
INSERT INTO "participant" VALUES(3,'679dae0292c6f7a399e306bac97c4c09','not asked','e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',1700000040.0,NULL,NULL,NULL,NULL);
CREATE TABLE participant_identity (
	participant INTEGER NOT NULL, 
	platform TEXT NOT NULL, 
	platform_id TEXT NOT NULL, 
	PRIMARY KEY (participant), 
	FOREIGN KEY(participant) REFERENCES participant (id)
);
INSERT INTO "participant_identity" VALUES(1,'link','ann');
INSERT INTO "participant_identity" VALUES(2,'link','bob');
INSERT INTO "participant_identity" VALUES(3,'link','cyd');
CREATE TABLE reply (
	id INTEGER NOT NULL, 
	session INTEGER NOT NULL, 
	stage TEXT NOT NULL, 
	at DOUBLE NOT NULL, 
	data TEXT NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(session) REFERENCES session (id)
);
CREATE TABLE session (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	participant INTEGER NOT NULL, 
	study_id TEXT NOT NULL, 
	platform_session TEXT, 
	address TEXT, 
	language TEXT NOT NULL, 
	stage TEXT NOT NULL, 
	"plan" TEXT NOT NULL, 
	batch TEXT, 
	position INTEGER NOT NULL, 
	issued INTEGER NOT NULL, 
	wanted INTEGER NOT NULL, 
	back_to INTEGER, 
	order_seed INTEGER NOT NULL, 
	label_order TEXT NOT NULL, 
	last_answer TEXT, 
	same_answers INTEGER NOT NULL, 
	started DOUBLE NOT NULL, 
	last_seen DOUBLE NOT NULL, 
	finished DOUBLE, 
	returned DOUBLE, 
	ended TEXT, 
	comprehension_tries INTEGER NOT NULL, 
	completion_code TEXT, 
	FOREIGN KEY(participant) REFERENCES participant (id)
);
INSERT INTO "session" VALUES(1,1,'',NULL,NULL,'en','debrief','["main", "main", "main", "repeat:1"]',NULL,4,4,0,NULL,1367864807,'["dog", "cat"]','"cat"',1,1700000000.0,1700000020.0,NULL,NULL,NULL,0,NULL);
INSERT INTO "session" VALUES(2,2,'',NULL,NULL,'en','debrief','["main", "main", "main", "repeat:1"]',NULL,4,4,0,NULL,1746484540,'["cat", "dog"]','"cat"',1,1700000020.0,1700000040.0,NULL,NULL,NULL,0,NULL);
INSERT INTO "session" VALUES(3,3,'',NULL,NULL,'en','trials','["main", "main", "main", "repeat:1"]',NULL,2,4,0,NULL,1167425779,'["dog", "cat"]','"cat"',1,1700000040.0,1700000050.0,NULL,NULL,NULL,0,NULL);
CREATE TABLE session_token (
	token_hash TEXT NOT NULL, 
	session INTEGER NOT NULL, 
	issued DOUBLE NOT NULL, 
	PRIMARY KEY (token_hash), 
	FOREIGN KEY(session) REFERENCES session (id)
);
INSERT INTO "session_token" VALUES('b421afd9f52f3342eba81e7be31aaa5cde4f91feca17a39ab29ea26740a2dcb6',1,1700000000.0);
INSERT INTO "session_token" VALUES('e89265b0a903e0aeb972fa42dff4d9088fd603c5bb09f11612ce6d6e03d1daaa',2,1700000020.0);
INSERT INTO "session_token" VALUES('8422dfafd6729d0f0fa21bcc4cfdf8691399dd69243c0786a92ecb5bd4db9901',3,1700000040.0);
CREATE TABLE stimulus (
	id INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	item TEXT NOT NULL, 
	images TEXT NOT NULL, 
	shown TEXT NOT NULL, 
	stratum TEXT, 
	batch TEXT, 
	role TEXT NOT NULL, 
	gold TEXT, 
	secret TEXT, 
	target INTEGER NOT NULL, 
	finished INTEGER DEFAULT 0 NOT NULL, 
	reserved INTEGER DEFAULT 0 NOT NULL, 
	paused BOOLEAN DEFAULT 0 NOT NULL, 
	lot DOUBLE NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE ("key")
);
INSERT INTO "stimulus" VALUES(1,'["main", "i0"]','i0','["07367e2b9f02fc275dd3d60405aa6591"]','{}',NULL,NULL,'main',NULL,NULL,3,1,0,0,8.15853554121532154042e-01);
INSERT INTO "stimulus" VALUES(2,'["main", "i1"]','i1','["9b0a3985e431d9a72b8885405d89cbba"]','{}',NULL,NULL,'main',NULL,NULL,3,1,1,0,2.73850017014809488102e-03);
INSERT INTO "stimulus" VALUES(3,'["main", "i2"]','i2','["7a65391db284113f2baa276032f7d608"]','{}',NULL,NULL,'main',NULL,NULL,3,1,0,0,7.29496560983998398874e-01);
INSERT INTO "stimulus" VALUES(4,'["main", "i3"]','i3','["4877957534ac3f73291e75449fca6805"]','{}',NULL,NULL,'main',NULL,NULL,3,2,0,0,9.35072423787768225444e-01);
CREATE TABLE trial (
	id INTEGER NOT NULL, 
	session INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	slot INTEGER NOT NULL, 
	stimulus INTEGER NOT NULL, 
	"view" TEXT NOT NULL, 
	repeats_trial INTEGER, 
	shown TEXT NOT NULL, 
	issued DOUBLE NOT NULL, 
	opened DOUBLE, 
	closed DOUBLE, 
	expires DOUBLE NOT NULL, 
	state TEXT NOT NULL, 
	counted BOOLEAN NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (session, number), 
	FOREIGN KEY(session) REFERENCES session (id), 
	FOREIGN KEY(stimulus) REFERENCES stimulus (id)
);
INSERT INTO "trial" VALUES(1,1,1,0,4,'first',NULL,'{}',1700000000.0,1700000000.0,1700000005.0,1700001800.0,'answered',1);
INSERT INTO "trial" VALUES(2,1,2,1,3,'first',NULL,'{}',1700000000.0,1700000005.0,1700000010.0,1700001805.0,'answered',1);
INSERT INTO "trial" VALUES(3,1,3,2,2,'first',NULL,'{}',1700000005.0,1700000010.0,1700000015.0,1700001810.0,'answered',1);
INSERT INTO "trial" VALUES(4,1,4,3,4,'repeat',1,'{}',1700000010.0,1700000015.0,1700000020.0,1700001815.0,'answered',0);
INSERT INTO "trial" VALUES(5,2,1,0,1,'first',NULL,'{}',1700000020.0,1700000020.0,1700000025.0,1700001820.0,'answered',0);
INSERT INTO "trial" VALUES(6,2,2,1,2,'first',NULL,'{}',1700000020.0,1700000025.0,1700000030.0,1700001825.0,'answered',0);
INSERT INTO "trial" VALUES(7,2,3,2,3,'first',NULL,'{}',1700000025.0,1700000030.0,1700000035.0,1700001830.0,'answered',0);
INSERT INTO "trial" VALUES(8,2,4,3,1,'repeat',5,'{}',1700000030.0,1700000035.0,1700000040.0,1700001835.0,'answered',0);
INSERT INTO "trial" VALUES(9,3,1,0,4,'first',NULL,'{}',1700000040.0,1700000040.0,1700000045.0,1700001840.0,'answered',1);
INSERT INTO "trial" VALUES(10,3,2,1,1,'first',NULL,'{}',1700000040.0,1700000045.0,1700000050.0,1700001845.0,'answered',1);
INSERT INTO "trial" VALUES(11,3,3,2,2,'first',NULL,'{}',1700000045.0,1700000050.0,NULL,1700001850.0,'open',0);
INSERT INTO "trial" VALUES(12,3,4,3,4,'repeat',9,'{}',1700000050.0,NULL,NULL,1700001850.0,'ahead',0);
CREATE TABLE webhook_event (
	event_id TEXT NOT NULL, 
	at DOUBLE NOT NULL, 
	PRIMARY KEY (event_id)
);
CREATE TABLE withdrawal (
	id INTEGER NOT NULL, 
	at DOUBLE NOT NULL, 
	answers INTEGER NOT NULL, 
	PRIMARY KEY (id)
);
CREATE INDEX stimulus_batch ON stimulus (batch);
CREATE INDEX stimulus_beside ON stimulus (role) WHERE role != 'main';
CREATE INDEX stimulus_choice ON stimulus (finished + reserved, lot) WHERE role = 'main' AND finished + reserved < target AND paused = 0;
CREATE INDEX stimulus_choice_by_stratum ON stimulus (stratum, finished + reserved, lot) WHERE role = 'main' AND finished + reserved < target AND paused = 0 AND stratum IS NOT NULL;
CREATE INDEX ix_session_address ON session (address);
CREATE INDEX ix_session_participant ON session (participant);
CREATE INDEX session_running ON session (id) WHERE ended IS NULL;
CREATE INDEX ix_flag_session ON flag (session);
CREATE INDEX ix_reply_session ON reply (session);
CREATE INDEX ix_session_token_session ON session_token (session);
CREATE INDEX trial_expires ON trial (expires) WHERE state IN ('ahead', 'open');
CREATE INDEX trial_session_slot ON trial (session, slot);
CREATE INDEX trial_stimulus_session ON trial (stimulus, session);
CREATE INDEX ix_answer_received ON answer (received);
CREATE INDEX ix_answer_event_trial ON answer_event (trial);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('participant',3);
INSERT INTO "sqlite_sequence" VALUES('session',3);
COMMIT;
