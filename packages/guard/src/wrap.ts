/**
 * An object that is `target` but for some members. Methods run on the target itself, so classes with private fields
 * work.
 */
export function overridden<T extends object>(target: T, members: object): T {
  return new Proxy(target, {
    get(object, key) {
      if (Object.hasOwn(members, key)) return Reflect.get(members, key);
      const value: unknown = Reflect.get(object, key, object);
      return typeof value === "function" ? value.bind(object) : value;
    },
  });
}

/** A stream that shows each chunk to `see` on its way to the reader; all its other members stay. */
export function observingStream<T extends object>(stream: T, see: (chunk: unknown) => void): T {
  return overridden(stream, {
    async *[Symbol.asyncIterator]() {
      for await (const chunk of stream as unknown as AsyncIterable<unknown>) {
        see(chunk);
        yield chunk;
      }
    },
  });
}
