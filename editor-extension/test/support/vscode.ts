/** The few parts of the editor's API that units under test use, with switches for the tests. */

type Listener<T> = (event: T) => unknown;

export class Disposable {
  static from(...disposables: { dispose(): unknown }[]): Disposable {
    return new Disposable(() => disposables.forEach((disposable) => disposable.dispose()));
  }

  constructor(private readonly callOnDispose: () => unknown) {}

  dispose(): void {
    this.callOnDispose();
  }
}

export class EventEmitter<T> {
  private readonly listeners = new Set<Listener<T>>();

  readonly event = (listener: Listener<T>): Disposable => {
    this.listeners.add(listener);
    return new Disposable(() => this.listeners.delete(listener));
  };

  fire(event: T): void {
    this.listeners.forEach((listener) => listener(event));
  }

  dispose(): void {
    this.listeners.clear();
  }
}

/** What the tests set. */
export const world = {
  isTrusted: true,
  /** Values of `stepsmith.*` without the prefix. */
  settings: {} as Record<string, unknown>,
  /** Extensions by id, with what their `activate` resolves to. */
  extensions: {} as Record<string, { activate(): Promise<unknown> }>,
  configurationChanged: new EventEmitter<{ affectsConfiguration(name: string): boolean }>(),
  trustGranted: new EventEmitter<void>(),
};

const nothing = new EventEmitter<never>().event;

export const workspace = {
  get isTrusted(): boolean {
    return world.isTrusted;
  },
  workspaceFolders: undefined,
  getConfiguration: () => ({
    get: (name: string, otherwise: unknown) => world.settings[name] ?? otherwise,
  }),
  onDidChangeConfiguration: world.configurationChanged.event,
  onDidChangeWorkspaceFolders: nothing,
  onDidGrantWorkspaceTrust: world.trustGranted.event,
};

export const extensions = {
  getExtension: (id: string) => world.extensions[id],
  onDidChange: nothing,
};
