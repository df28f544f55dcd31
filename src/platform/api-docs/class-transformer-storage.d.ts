/** Where class-transformer stores `@Type` metadata; the library has no types for this file. */
declare module 'class-transformer/cjs/storage.js' {
  import type { MetadataStorage } from 'class-transformer/types/MetadataStorage.js';

  const storage: { readonly defaultMetadataStorage: MetadataStorage };
  export default storage;
}
