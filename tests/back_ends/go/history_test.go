package backend

import (
	"testing"

	"google.golang.org/protobuf/proto"

	api "example/backend/heartline/v1"
)

func now(t *testing.T, history api.HistoryClient, mid uint64) uint64 {
	t.Helper()
	return call(t, history.Open, &api.OpenRequest{Mid: &mid}).Now
}

func put(t *testing.T, history api.HistoryClient, mid uint64, beats ...*api.Beat) *api.UserAnswer {
	t.Helper()
	request := &api.PutRequest{Users: []*api.UserBeats{{Mid: &mid, Items: beats}}}
	return call(t, history.Put, request).Users[0]
}

func listed(t *testing.T, history api.HistoryClient, mid uint64) []uint64 {
	t.Helper()
	return oids(call(t, history.List, &api.ListRequest{Mid: &mid}).Records)
}

func TestABatchIsCommittedAndRead(t *testing.T) {
	history, mid := client(t)
	_, other := client(t)
	now := now(t, history, mid)
	answer := call(t, history.Put, &api.PutRequest{Users: []*api.UserBeats{
		{Mid: &mid, Device: "tv", Items: []*api.Beat{beat(1, now), beat(2, now+60_000)}},
		{Mid: &other, Items: []*api.Beat{beat(1, now)}},
	}})
	equal(t, "users", []uint64{answer.Users[0].Mid, answer.Users[1].Mid}, []uint64{mid, other})
	equal(t, "changed", answer.Users[0].Changed, []uint32{0})
	equal(t, "refused beats", len(answer.Users[0].Rejected), 1)
	equal(t, "the refused beat", answer.Users[0].Rejected[0].Index, 1)
	equal(t, "its reason", answer.Users[0].Rejected[0].Reason, api.Reason_REASON_CLOCK)
	equal(t, "time goes on", answer.Now >= now, true)

	request := &api.GetRequest{Mid: &mid, Items: []*api.Content{content(1), content(2)}}
	slots := call(t, history.Get, request).Records
	equal(t, "slots", len(slots), 2)
	record := slots[0].Record
	equal(t, "lengths", []uint64{record.Pos, record.Resume, record.At}, []uint64{73_200, 73_200, now})
	equal(t, "device", record.Device, "tv")
	equal(t, "the refused one is not there", slots[1].Record, nil)
}

func TestListsComeInPages(t *testing.T) {
	history, mid := client(t)
	began := now(t, history, mid) - 1_000
	beats, newestFirst := []*api.Beat{}, []uint64{}
	for oid := uint64(1); oid < 10; oid++ {
		beats = append(beats, beat(oid, began+oid))
		newestFirst = append(newestFirst, 10-oid)
	}
	put(t, history, mid, beats...)
	found, request := []uint64{}, &api.ListRequest{Mid: &mid, Limit: proto.Uint32(4), Kinds: []uint32{1}}
	for {
		page := call(t, history.List, request)
		found = append(found, oids(page.Records)...)
		if request.Cursor = page.Cursor; page.Cursor == "" {
			break
		}
	}
	equal(t, "contents", found, newestFirst)
}

func TestForgettingSaysUpToWhen(t *testing.T) {
	history, mid := client(t)
	now := now(t, history, mid)
	put(t, history, mid, beat(1, now), beat(2, now))
	request := &api.DeleteRequest{Mid: &mid, Items: []*api.Content{content(1)}, At: &now}
	equal(t, "deleted up to", call(t, history.Delete, request).At, now)
	equal(t, "what is left", listed(t, history, mid), []uint64{2})
	equal(t, "cleared later", call(t, history.Clear, &api.ClearRequest{Mid: &mid}).At >= now, true)
	equal(t, "what is left", listed(t, history, mid), []uint64{})
}

func TestRecordingIsPausedAndResumed(t *testing.T) {
	history, mid := client(t)
	paused := func(paused bool) bool {
		return call(t, history.SetRecording, &api.SetRecordingRequest{Mid: &mid, Paused: &paused}).Paused
	}
	equal(t, "paused", paused(true), true)
	equal(t, "read", call(t, history.GetRecording, &api.GetRecordingRequest{Mid: &mid}).Paused, true)
	opened := call(t, history.Open, &api.OpenRequest{Mid: &mid})
	equal(t, "opened", opened.Paused, true)
	rejected := put(t, history, mid, beat(1, opened.Now+1)).Rejected
	equal(t, "refused beats", len(rejected), 1)
	equal(t, "their reason", rejected[0].Reason, api.Reason_REASON_NOT_RECORDING)
	equal(t, "resumed", paused(false), false)
}

// The rule of this gateway rewards the first beat of a day.
func TestRewardsAreToldOnceAndRead(t *testing.T) {
	history, mid := client(t)
	opened := call(t, history.Open, &api.OpenRequest{Mid: &mid})
	equal(t, "opened", opened.Mid, mid)
	claimed := put(t, history, mid, beat(1, opened.Now)).Rewards
	equal(t, "rewards", len(claimed), 1)
	equal(t, "their rule", claimed[0].Rule, "first-of-day")
	equal(t, "rewards of the next beat", len(put(t, history, mid, beat(1, opened.Now+1)).Rewards), 0)
	rewards := call(t, history.Rewards, &api.RewardsRequest{Mid: &mid})
	equal(t, "day", rewards.Day, claimed[0].Day)
	equal(t, "rewards of the day", len(rewards.Rewards), 1)
	equal(t, "the reward", rewards.Rewards[0].Id, claimed[0].Id)
	equal(t, "flagged", call(t, history.Open, &api.OpenRequest{Mid: &mid}).Flag == opened.Flag, false)
}

func TestUsersAreListed(t *testing.T) {
	history, mid := client(t)
	put(t, history, mid, beat(1, now(t, history, mid)))
	users := call(t, history.Users, &api.UsersRequest{After: proto.Uint64(mid - 1), Limit: proto.Uint32(1)}).Users
	equal(t, "users", len(users), 1)
	equal(t, "the user", users[0].Mid, mid)
}
