#define STEP 5
typedef struct { int x, y; } relative_t;
