import { expectAssignable, expectError, expectType } from 'tsd';
import { Heartline, HeartlineError } from '@heartline/client';
import type { Content, HeartlineEvents, Page, Playback, ProgressSource, StoredRecord } from '@heartline/client';
import { HeartlineProvider, useContinueWatching, useResume } from '@heartline/client/react';
import { progressSource } from '@heartline/client/videojs';
import { HeartlineStorage } from '@heartline/client/vidstack';
import { expoVideo, followApp, openStorage, reactNativeVideo } from '@heartline/client/native';

const heartline = new Heartline({ user: 42n, getToken: async ({ refused }) => `${refused satisfies boolean}` });
declare const video: HTMLVideoElement;

// Options and arguments.
expectError(new Heartline({ user: '42' }));
expectError(new Heartline({ user: '42', getToken: () => 'not a promise' }));
expectError(new Heartline({ user: '42', getToken: async () => 't', auth: 'query' }));
expectError(heartline.resume(video, { oid: '100' }));
expectError(heartline.resume({ currentTime: 0 }, { kind: 1, oid: '100' }));
expectError(heartline.list({ finished: 'no' }));

// Results.
expectType<Playback>(heartline.resume(video, { kind: 1, oid: '100' }, { onOffer: record => expectType<StoredRecord>(record) }));
expectType<Promise<StoredRecord | null>>(heartline.play(video, { kind: 1, oid: 100 }).place);
expectType<Promise<(StoredRecord | null)[]>>(heartline.get({ kind: 1, oid: 100n }));
expectType<Promise<Page>>(heartline.list({ limit: 5, kinds: [1, 2] }));
expectType<Promise<void>>(heartline.delete([{ kind: 1, oid: '1' }]));
expectType<Promise<{ paused: boolean }>>(heartline.pauseRecording());
expectType<'socket' | 'http'>(heartline.transport);
expectAssignable<Error>(new HeartlineError('timeout', 'no answer', true));

// Events have their details.
heartline.addEventListener('elsewhere', ({ detail }) => {
  expectType<StoredRecord>(detail.record);
  expectType<number>(detail.record.resume);
});
heartline.addEventListener('unbound', ({ detail }) => expectType<'stopped' | 'replaced' | 'closed' | 'media' | 'gone'>(detail.reason));
heartline.addEventListener('fault', event => {
  expectType<string>(event.detail.message);
  event.preventDefault();
}, { once: true });
expectType<number>({} as HeartlineEvents['reconnecting']['delay']);
expectError(heartline.addEventListener('elswhere', () => {}));
expectError(heartline.addEventListener('outbox', ({ detail }) => detail.length));

// What may be followed.
expectAssignable<ProgressSource>(video);
expectAssignable<ProgressSource>({} as HTMLAudioElement);
expectAssignable<Content>({ kind: 3, oid: '7' });

// Adapters.
expectAssignable<Function>(HeartlineProvider);
expectType<StoredRecord | null>(useResume({ current: video }, { kind: 1, oid: '1' }).offer);
expectType<StoredRecord[] | null>(useContinueWatching({ limit: 3 }).records);
expectError(useContinueWatching({ limit: '3' }));
declare const player: ReturnType<typeof import('video.js').default>;
expectAssignable<ProgressSource>(progressSource(player));
declare const vidstack: import('vidstack/elements').MediaPlayerElement;
const storage = new HeartlineStorage(heartline, vidstack, { contentOf: () => null });
expectAssignable<import('vidstack').MediaStorage>(storage);
expectType<Promise<number | null>>(storage.getTime());
expectAssignable<ProgressSource>(expoVideo({}));
expectAssignable<ProgressSource>(reactNativeVideo({ current: null }));
expectAssignable<Function>(followApp);
expectAssignable<Function>(openStorage);
