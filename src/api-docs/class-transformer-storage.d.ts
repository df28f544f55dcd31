/** Where class-transformer keeps what `@Type` says; it has no types of its own for it. */
declare module 'class-transformer/cjs/storage.js' {
  import type { MetadataStorage } from 'class-transformer/types/MetadataStorage.js';

  const storage: { readonly defaultMetadataStorage: MetadataStorage };
  export default storage;
}
