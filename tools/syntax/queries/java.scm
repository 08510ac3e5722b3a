(class_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @interface
(enum_declaration name: (identifier) @name) @enum
(record_declaration name: (identifier) @name) @record
(annotation_type_declaration name: (identifier) @name) @annotation
(method_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @constructor
(compact_constructor_declaration name: (identifier) @name) @constructor
(class_body (field_declaration (modifiers "static" "final") declarator: (variable_declarator name: (identifier) @name)) @constant)
(interface_body (constant_declaration declarator: (variable_declarator name: (identifier) @name)) @constant)
(annotation_type_element_declaration name: (identifier) @name) @method
(field_declaration declarator: (variable_declarator name: (identifier) @name @asked)) @field
(enum_constant name: (identifier) @name @asked) @constant
(record_declaration parameters: (formal_parameters (formal_parameter name: (identifier) @name @asked) @field))
