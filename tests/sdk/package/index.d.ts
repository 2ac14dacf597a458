export * from '@heartline/client';
