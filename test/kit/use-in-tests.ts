/** What the tests of a file share. */
interface Scene {
  open(): Promise<unknown>;
  close(): Promise<unknown>;
  beginTest?(): unknown;
  endTest?(): unknown;
}

/** Opens a scene before the tests of the file or group, and closes it after them. Call outside of all tests. */
export function useInTests<T extends Scene>(scene: T): T {
  beforeAll(() => scene.open());
  afterAll(() => scene.close());
  beforeEach(() => scene.beginTest?.());
  afterEach(() => scene.endTest?.());
  return scene;
}
