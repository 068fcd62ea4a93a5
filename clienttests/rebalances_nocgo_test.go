//go:build !cgo

package clienttests

func confluentReportKinds() []reportKind { return nil }

func confluentLifeKinds() []lifeKind { return nil }
