package main

// areas are all kinds of sequences.
var areas = []*area{&logArea, &sessionsArea, &classicArea, &lifeArea, &consumerArea, &mixedArea, &transactionsArea, &expiryArea, &changesArea, &adminArea}

// oldRecords are settings of topics that keep records of long ago.
func oldRecords(more ...string) map[string]string {
	settings := map[string]string{"retention.ms": "-1"}
	for i := 0; i+1 < len(more); i += 2 {
		settings[more[i]] = more[i+1]
	}
	return settings
}
